import { expect } from "chai";
import { createSmppClient, type SmppClient } from "../../../services/shared/smpp/client.ts";
import type { LinkInfo, SmppClientOptions } from "../../../services/shared/smpp/client-options.ts";
import { parseReceipt } from "../../../services/shared/smpp/receipts.ts";
import type { SubmitOutcome } from "../../../services/shared/smpp/submit-outcome.ts";
import type { CountersSnapshot } from "../../../services/smsc-simulator/app/counters.ts";
import {
  type Simulator,
  startSimulator,
} from "../../../services/smsc-simulator/create-simulator.ts";
import { eventually } from "../../support/poll.ts";

const NUMBER = "2348031230000";

describe("SMPP client against the simulator's faults", () => {
  let simulator: Simulator;
  let client: SmppClient;
  let receipts: string[];
  let infos: LinkInfo[];
  let late: string[];

  beforeEach(async () => {
    const credentials = { systemId: "carrier", password: "secret" };
    simulator = await startSimulator({
      host: "127.0.0.1",
      port: 0,
      controlPort: 0,
      ...credentials,
    });
    receipts = [];
    infos = [];
    late = [];
    await behave({ receipts: { delay_ms: 20, resend_ms: 30 } });
    client = open({});
  });
  afterEach(async () => {
    await client.close();
    await simulator.close();
  });

  function open(options: Partial<SmppClientOptions>): SmppClient {
    return createSmppClient({
      host: "127.0.0.1",
      port: simulator.port,
      systemId: "carrier",
      password: "secret",
      responseTimeoutMs: 600,
      enquireLinkIntervalMs: 300,
      enquireLinkTimeoutMs: 500,
      bindTimeoutMs: 500,
      unbindTimeoutMs: 50,
      frameTimeoutMs: 400,
      reconnectMinMs: 5,
      reconnectMaxMs: 20,
      onDeliver: (message) => {
        const receipt = parseReceipt(message);
        receipts.push(`${receipt?.recipient} ${receipt?.state}`);
      },
      onState: (_, info) => infos.push(info),
      onLateAnswer: (token, outcome) => late.push(`${token} ${outcome.kind}`),
      ...options,
    });
  }

  async function control(method: string, path: string, body?: unknown): Promise<unknown> {
    const response = await fetch(`http://127.0.0.1:${simulator.controlPort}${path}`, {
      method,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    expect(response.status).to.equal(200);
    return response.json();
  }
  const behave = (change: object) => control("POST", "/behaviour", change);
  const counters = () => control("GET", "/counters") as Promise<CountersSnapshot>;
  const bound = () => eventually(() => client.state === "bound", { what: "the link" });
  const submit = (text: string, to = NUMBER): Promise<SubmitOutcome> =>
    client.submit(
      {
        sourceAddr: "ACME",
        destinationAddr: to,
        registeredDelivery: 1,
        shortMessage: Buffer.from(text),
      },
      undefined,
      text,
    );

  /** The outcome of the submit that meets the fault, and whether the link survives the fault. */
  const FAULTS: [name: string, outcome: string, link: "stays" | "comes back", setting?: object][] =
    [
      ["no_answer", "unknown timeout", "stays"],
      ["late_answer", "unknown timeout", "stays", { delay_ms: 1200 }],
      ["slow", "accepted", "stays", { delay_ms: 60 }],
      ["wrong_sequence", "unknown timeout", "stays"],
      ["generic_nack", "refused ESME_RSYSERR", "stays"],
      ["unbind_on_submit", "unknown closed", "comes back"],
      ["short_length", "unknown bad_answer", "comes back"],
      ["long_length", "unknown", "comes back"],
      ["zero_length", "unknown closed", "comes back"],
      ["huge_length", "unknown closed", "comes back"],
      ["slow_loris", "unknown", "comes back", { delay_ms: 40 }],
      ["unknown_command", "accepted", "stays"],
      ["bad_body", "accepted", "stays"],
      ["bad_answer", "unknown bad_answer", "stays"],
      ["receipt_before_answer", "accepted", "stays"],
      ["throttle", "refused ESME_RTHROTTLED", "stays"],
      ["queue_full", "refused ESME_RMSGQFUL", "stays"],
      ["system_error", "refused ESME_RSYSERR", "stays"],
      ["drop_link", "unknown closed", "comes back"],
      ["half_open", "unknown", "comes back"],
    ];
  for (const [name, expected, link, setting] of FAULTS) {
    it(`${name}: the submit is ${expected}, the link ${link}, the next submit is accepted`, async () => {
      client.start();
      await bound();
      await behave({ faults: { [name]: { limit: 1, ...setting } } });
      const outcome = await submit("struck");
      const said = [
        outcome.kind,
        "reason" in outcome ? outcome.reason : "",
        "statusName" in outcome ? outcome.statusName : "",
      ];
      expect(said.filter(Boolean).join(" ")).to.match(new RegExp(`^${expected}`));
      if (link === "comes back") {
        await eventually(() => infos.some(({ reason }) => reason !== undefined));
      } else expect(infos.every(({ reason }) => reason === undefined)).to.equal(true);
      // Longer faults still hold the first session when the next submit goes out.
      const next = await eventually(async () => {
        await bound();
        const again = await submit("next");
        return again.kind === "accepted" && again;
      });
      expect(next.messageId).to.have.length.above(0);
      await eventually(() => receipts.includes(`${NUMBER} delivered`), { what: "the receipt" });
    });
  }

  it("the client delivers a receipt that arrives before the answer to its submit", async () => {
    client.start();
    await bound();
    await behave({ faults: { receipt_before_answer: { limit: 1 } } });
    let isAnswered = false;
    const outcome = submit("struck").finally(() => {
      isAnswered = true;
    });
    await eventually(() => receipts.length > 0, { everyMs: 1 });
    expect(isAnswered).to.equal(false);
    expect((await outcome).kind).to.equal("accepted");
  });

  it("the client reports a late answer to a submit that ended as unknown", async () => {
    client.start();
    await bound();
    await behave({ faults: { late_answer: { limit: 1, delay_ms: 1000 } } });
    expect((await submit("struck")).kind).to.equal("unknown");
    await eventually(() => late.length > 0);
    expect(late).to.deep.equal(["struck accepted"]);
  });

  it("the client reconnects while binds are refused, unanswered or preceded by other PDUs", async () => {
    await behave({
      faults: {
        bind_refused: { limit: 2 },
        bind_unanswered: { limit: 1 },
        deliver_before_bind: { limit: 2 },
        outbind: { limit: 1 },
      },
    });
    client.start();
    await bound();
    expect(infos.map(({ status }) => status).filter(Boolean)).to.deep.equal([0x0d, 0x0d]);
    expect(infos.map(({ reason }) => reason)).to.include("bind_timeout");
    expect((await submit("fine")).kind).to.equal("accepted");
  });

  it("the reconnect delay grows after each failure, and the state names the status of the refused bind", async () => {
    await client.close();
    client = open({ password: "wrong", reconnectMinMs: 10, reconnectMaxMs: 100, random: () => 1 });
    client.start();
    await eventually(() => infos.filter(({ status }) => status === 0x0e).length >= 2);
    const waits = infos.flatMap(({ retryInMs }) => retryInMs ?? []);
    expect(waits.slice(0, 2)).to.deep.equal([80, 100]);
  });

  const LOSSES = [
    ["never answers a submit waits longer before each dial", 60_000, [20, 40, 80]],
    ["has stood for long enough is dialled early again", 0, [10, 10, 10]],
  ] as const;
  for (const [what, stableMs, expected] of LOSSES) {
    it(`a link that binds and ${what}`, async () => {
      await client.close();
      const load = { reconnectMinMs: 10, reconnectMaxMs: 1000, random: () => 1 };
      client = open({ ...load, stableMs });
      client.start();
      await behave({ faults: { drop_link: true } });
      infos = [];
      for (let round = 0; round < 3; round++) {
        await bound();
        expect((await submit(`struck ${round}`)).kind).to.equal("unknown");
        await eventually(() => client.state !== "bound");
      }
      const waits = () => infos.flatMap(({ retryInMs }) => retryInMs ?? []);
      expect(waits()).to.deep.equal(expected);
      await behave({ faults: {} });
      await bound();
      expect((await submit("fine")).kind).to.equal("accepted");
      await behave({ faults: { drop_link: true } });
      await submit("struck");
      await eventually(() => waits().length === 4);
      expect(waits()[3], "an answered submit is what counts").to.equal(10);
    });
  }

  it("the client closes a link whose peer does not answer enquire_link", async () => {
    client.start();
    await bound();
    await behave({ faults: { enquire_unanswered: { limit: 1 } } });
    await eventually(() => infos.some(({ reason }) => reason === "enquire_link_timeout"));
    await bound();
  });

  it("the client stops when its unbind gets no answer", async () => {
    client.start();
    await bound();
    await behave({ faults: { unbind_unanswered: true } });
    await client.close();
    expect(client.state).to.equal("stopped");
    await eventually(async () => (await counters()).binds === 0);
  });

  it("no receipt is lost and no submit repeated while links drop with a full window", async () => {
    await client.close();
    client = open({ windowMax: 20, responseTimeoutMs: 1000, enquireLinkIntervalMs: 0 });
    client.start();
    await bound();
    await behave({
      seed: 42,
      latency_ms: { min: 0, max: 5 },
      faults: { drop_link: { probability: 0.01 }, throttle: { probability: 0.05 } },
    });
    const accepted = new Set<string>();
    let unknown = 0;
    const todo = Array.from({ length: 600 }, (_, i) => `message ${i}`);
    const work = async (): Promise<void> => {
      for (let text = todo.pop(); text !== undefined; text = todo.pop()) {
        await bound();
        const outcome = await submit(text);
        if (outcome.kind === "accepted") accepted.add(text);
        else if (outcome.kind === "unknown") unknown++;
        else todo.push(text);
      }
    };
    await Promise.all(Array.from({ length: 20 }, work));
    const seen = await counters();
    expect(accepted.size + unknown).to.equal(600);
    expect(unknown).to.be.above(0);
    expect(seen.duplicates).to.equal(0);
    expect(seen.total - seen.refused)
      .to.be.at.most(600)
      .and.at.least(accepted.size);
    await behave({ faults: {} });
    await eventually(async () => {
      const { sent, acknowledged } = (await counters()).receipts;
      return sent === acknowledged && receipts.length >= accepted.size;
    });
  });

  it("the server repeats a receipt until the client has stored and acknowledged it", async () => {
    await client.close();
    let tries = 0;
    client = open({
      onDeliver: async () => {
        tries++;
        if (tries < 4) throw new Error("the store is away");
      },
    });
    client.start();
    await bound();
    await submit("x");
    await eventually(async () => (await counters()).receipts.acknowledged === 1);
    expect(tries).to.equal(4);
    expect((await counters()).receipts).to.deep.equal({
      sent: 1,
      acknowledged: 1,
      resent: 3,
      dropped: 0,
    });
  });

  it("the client gets the receipts that became due while it was disconnected", async () => {
    client.start();
    await bound();
    await behave({ receipts: { delay_ms: 100 } });
    await submit("x");
    await client.close();
    client = open({});
    await eventually(async () => (await counters()).binds === 0);
    client.start();
    await eventually(() => receipts.length > 0);
    expect(receipts).to.deep.equal([`${NUMBER} delivered`]);
  });

  it("the simulator throttles submits beyond its window or rate and counts the busiest second", async () => {
    await client.close();
    client = open({ windowMax: 10, responseTimeoutMs: 2000 });
    client.start();
    await bound();
    await behave({ window: 3, latency_ms: 50 });
    const first = await Promise.all(Array.from({ length: 10 }, (_, i) => submit(`w${i}`)));
    expect(first.filter(({ kind }) => kind === "refused")).to.have.length(7);
    await behave({ reset: true, rate_per_second: 4 });
    await control("POST", "/reset");
    const second = await Promise.all(Array.from({ length: 10 }, (_, i) => submit(`r${i}`)));
    const refused = second.flatMap((outcome) =>
      outcome.kind === "refused" ? outcome.disposition : [],
    );
    expect(refused.length).to.be.within(6, 10);
    expect(new Set(refused)).to.deep.equal(new Set(["throttled"]));
    expect(await counters()).to.deep.include({
      peak_per_second: 10,
      total: 10,
      refused: refused.length,
    });
  });
});
