import { expect } from "chai";
import { SHORT_CODE } from "../../../deploy/dev/demo-answer.ts";
import { eventually } from "../../support/poll.ts";
import { callRest } from "../../support/rest.ts";
import { runAtInterval } from "../../support/run-at-interval.ts";
import { readCounters } from "../../support/simulator-control.ts";
import { startTestStack, type TestStack } from "../../support/stack.ts";

const COUNT = Number(process.env.INBOUND_COUNT ?? 2000);
const PER_MINUTE = Number(process.env.INBOUND_PER_MINUTE ?? 10_000);
const HANDSETS = 5000;
/** Killed in turn while answers come in. */
const KILLED = ["carrier", "consent"] as const;
const KILLS_MIN = 3;
/** Sends are timed in phases without and with the flow of answers, in turn. */
const ROUNDS = Number(process.env.INBOUND_ROUNDS ?? 3);
const SENDS = 60;
/** On a busy machine the ratio counts; the printed one is the measurement. */
const SEND_MS_MAX = 500;
const BUSY_RATIO_MAX = 5;
const QUIET_MS = 20;

type Inbound = { id: string; from: string; body: string };

describe("inbound messages of many handsets", function () {
  this.timeout(600_000);
  let stack: TestStack;
  before(async () => {
    stack = await startTestStack();
  });
  after(() => stack?.stop());

  const call = (method: string, path: string, body?: object) =>
    callRest(stack.gateway, method, path, { apiKey: stack.api_key, ...(body && { body }) });

  /** Handsets write texts that begin with a word, at an even rate; resolves when all are on their way. */
  async function flow(word: string, count: number): Promise<void> {
    const response = await fetch(new URL("/mo", stack.smsc.control), {
      method: "POST",
      body: JSON.stringify({
        ...{ source: "+2348031600000", destination: SHORT_CODE, text: `${word} {n}` },
        ...{ count, handsets: HANDSETS, rate_per_second: PER_MINUTE / 60 },
        system_id: stack.smsc.system_id,
      }),
    });
    expect(response.ok, await response.text()).to.equal(true);
  }

  /** Every inbound message whose text begins with the word. */
  async function inbound(word: string): Promise<Inbound[]> {
    const found: Inbound[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const page = await call(
        "GET",
        `/v1/inbound-messages?limit=100${cursor && `&cursor=${cursor}`}`,
      );
      expect(page.status, JSON.stringify(page.body)).to.equal(200);
      found.push(...page.body.data.filter(({ body }: Inbound) => body.startsWith(word)));
      cursor = page.body.next_cursor;
    }
    return found;
  }

  /** Waits until this many different texts have come; returns every message, so that a second one would show. */
  async function awaitAll(word: string, count: number): Promise<Inbound[]> {
    return eventually(
      async () => {
        const found = await inbound(word);
        return new Set(found.map(({ body }) => body)).size === count && found;
      },
      { what: `${count} inbound messages`, timeoutMs: 60_000, everyMs: 1000 },
    );
  }

  async function timeSends(): Promise<number[]> {
    const times: number[] = [];
    const bodies = Array.from({ length: SENDS }, (_, index) => `Timed ${index}`);
    await runAtInterval(bodies, QUIET_MS, async (text) => {
      const begunMs = performance.now();
      const body = { to: "+2348090000001", from: stack.sender_id, body: text };
      const answer = await call("POST", "/v1/sms/messages", body);
      expect(answer.status, JSON.stringify(answer.body)).to.equal(202);
      times.push(performance.now() - begunMs);
    });
    return times;
  }

  const median = (times: readonly number[]) =>
    times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;

  /** Resolves when the carrier has acknowledged everything that handsets wrote. */
  async function settled(): Promise<void> {
    await eventually(
      async () => {
        const { receipts } = await readCounters(stack.smsc.control);
        return receipts.acknowledged === receipts.sent;
      },
      { what: "acknowledgements", timeoutMs: 60_000, everyMs: 200 },
    );
  }

  it("loses none at 10,000 a minute, and sends go on", async () => {
    await timeSends();
    const calm: number[] = [];
    const busy: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      calm.push(...(await timeSends()));
      await flow(`Paced${round}`, COUNT);
      busy.push(...(await timeSends()));
      await settled();
    }
    for (let round = 0; round < ROUNDS; round += 1) {
      const found = await awaitAll(`Paced${round} `, COUNT);
      expect(found.length, "stored twice").to.equal(COUNT);
    }
    const [calmMs, busyMs] = [median(calm), median(busy)];
    process.stdout.write(
      `        ${ROUNDS} times ${COUNT} at ${PER_MINUTE} a minute: a send took ` +
        `${busyMs.toFixed(1)} ms, ${calmMs.toFixed(1)} ms without: ${(busyMs / calmMs).toFixed(2)} times\n`,
    );
    expect(busyMs).to.be.below(Math.max(SEND_MS_MAX, BUSY_RATIO_MAX * calmMs));
  });

  it("stores and announces each once, while carrier and consent are killed", async () => {
    await flow("Killed", COUNT);
    const endMs = performance.now() + (COUNT * 60_000) / PER_MINUTE;
    let kills = 0;
    while (performance.now() < endMs || kills < KILLS_MIN) {
      const name = KILLED[kills++ % KILLED.length] ?? "carrier";
      await stack.kill(name);
      await stack.restart(name);
    }
    const found = await awaitAll("Killed", COUNT);
    expect(found.length, "stored twice").to.equal(COUNT);

    const announced = await eventually(
      async () => {
        const ids = await announcedIds();
        return found.every(({ id }) => ids.has(id)) && ids;
      },
      { what: "all webhooks", timeoutMs: 60_000, everyMs: 1000 },
    );
    const twice = found.filter(({ id }) => announced.get(id)?.size !== 1);
    expect(twice, "announced by two events").to.deep.equal([]);
  });

  /** The events that announced each inbound message. A webhook may come twice, with the same event id. */
  async function announcedIds(): Promise<Map<string, Set<string>>> {
    const response = await fetch(`${stack.receiver.events}?contains=inbound_message.received`);
    const events = (await response.json()) as { body: string }[];
    const ids = new Map<string, Set<string>>();
    for (const { body } of events) {
      const { id, data } = JSON.parse(body) as { id: string; data: { object: { id: string } } };
      const known = ids.get(data.object.id) ?? new Set();
      ids.set(data.object.id, known.add(id));
    }
    return ids;
  }
});
