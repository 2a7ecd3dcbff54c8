/** `sms listen` on the real gateway with a webhook service in memory: its requests, and how it survives an outage. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { Code, ConnectError } from "@connectrpc/connect";
import { expect } from "chai";
import { ROOT } from "../../../deploy/dev/paths.ts";
import { STATUS_CHANGED_EXAMPLE } from "../../../gateway/docs/content/event-samples.ts";
import type { Webhooks } from "../../../gateway/operations/webhooks/webhook-operation.ts";
import { AppError } from "../../../services/shared/core/errors.ts";
import { collectOutput } from "../../support/child-output.ts";
import { COMPILE_CACHE } from "../../support/compile-cache.ts";
import { eventually } from "../../support/poll.ts";
import { API_KEY, openRestApp, type RestApp } from "../../support/rest-app.ts";
import { type Receiver, startReceiver, verifiedEvents } from "../../support/webhook-receiver.ts";

const MAIN = join(ROOT, "clients/cli/main.ts");
const BODY = JSON.stringify(STATUS_CHANGED_EXAMPLE);

type Asked = { readonly cursor: string; readonly eventTypes: string[]; readonly waitMs?: number };
type Answer = { readonly bodies: string[]; readonly cursor: string };

describe("sms listen", function () {
  this.timeout(60_000);
  let asked: Asked[];
  /** The answers in order; then calls wait for their end. */
  let answers: (Answer | Error)[];
  let receiver: Receiver;
  let url: string;
  let app: RestApp;

  before(async () => {
    receiver = await startReceiver();
    url = receiver.url();
  });
  after(() => receiver?.close());
  beforeEach(async () => {
    receiver.received.length = 0;
    asked = [];
    const readEvents = async (request: Asked, options?: { readonly signal: AbortSignal }) => {
      asked.push(request);
      const answer = answers.shift();
      if (answer instanceof Error) throw answer;
      if (answer !== undefined) return answer;
      return new Promise((_, reject) => {
        options?.signal.addEventListener("abort", () => reject(new Error("cancelled")));
      });
    };
    app = await openRestApp({ ports: { webhooks: { readEvents } as unknown as Webhooks } });
  });
  afterEach(() => app.close());

  const listenUntil = (isDone: () => boolean, ...words: string[]) =>
    runUntil(isDone, "listen", ...words);

  /** Runs a command, and interrupts it when `isDone` returns true. */
  async function runUntil(isDone: () => boolean, ...words: string[]) {
    const own = { SMS_API_KEY: API_KEY, SMS_BASE_URL: app.url };
    const env = { ...process.env, ...COMPILE_CACHE, ...own };
    const child = spawn(process.execPath, [MAIN, ...words], { env });
    const { seen, ended } = collectOutput(child);
    try {
      await eventually(() => child.exitCode !== null || isDone(), {
        timeoutMs: 40_000,
        what: `the end: ${seen.out} ${seen.err}`,
      });
    } finally {
      child.kill("SIGINT");
    }
    return { code: await ended, ...seen };
  }

  it("takes the place of the next event first, forwards each event, and ends at Ctrl-C", async () => {
    answers = [
      { bodies: [], cursor: "k1.start" },
      { bodies: [BODY], cursor: "k1.next" },
    ];
    const words = ["--forward-to", url, "--events", "message.status_changed"];
    const { code, out, err } = await listenUntil(() => asked.length === 3, ...words);
    expect({ code, err }).to.deep.equal({ code: 130, err: "" });
    expect(asked.map(({ cursor }) => cursor)).to.deep.equal(["", "k1.start", "k1.next"]);
    expect(asked.map(({ waitMs }) => waitMs)).to.deep.equal([undefined, 20_000, 20_000]);
    expect(asked[0]?.eventTypes).to.deep.equal(["message.status_changed"]);
    const secret = /whsec_\S+/.exec(out)?.[0] ?? "";
    expect(String(receiver.received[0]?.body)).to.equal(BODY);
    const [event] = await verifiedEvents(receiver, secret);
    expect(event?.id).to.equal((JSON.parse(BODY) as { id: string }).id);
    expect(out).to.match(/message\.status_changed {2}evt_\w+ {2}msg_\w+ {2}→ 204 in \d+ ms/);
  });

  it("survives an outage, and reads on from the same cursor", async () => {
    const away = new ConnectError("away", Code.Unavailable);
    answers = [
      { bodies: [], cursor: "k1.start" },
      ...[away, away, away],
      { bodies: [BODY], cursor: "k1.next" },
    ];
    const { out, err } = await listenUntil(() => asked.length === 6, "--json");
    expect(asked.slice(1, 5).map(({ cursor }) => cursor)).to.deep.equal(Array(4).fill("k1.start"));
    expect(JSON.parse(out)).to.deep.equal(JSON.parse(BODY));
    expect(err)
      .to.match(/Ready/)
      .and.match(/service_unavailable/);
  });

  it("ends with a line for an error that a repeat cannot cure", async () => {
    answers = [new AppError("insufficient_scope", "The API key lacks the scope.")];
    const { code, err } = await listenUntil(() => false);
    expect(code).to.equal(4);
    expect(err).to.equal("sms: The API key lacks the scope. (insufficient_scope)\n");
  });

  it("trigger --forward-to sends the sample of the documentation under a new id", async () => {
    for (const type of ["wallet.low_balance", "message.delivered", "campaign.failed"]) {
      const words = ["trigger", type, "--forward-to", url, "--json"];
      const { code, out, err } = await runUntil(() => false, ...words);
      expect(code, err).to.equal(0);
      expect(JSON.parse(out)).to.include({ event_type: type });
    }
    const secret = (await listenUntil(() => false, "--print-secret")).out.trim();
    const events = await verifiedEvents(receiver, secret);
    expect(events.map(({ type }) => type)).to.deep.equal([
      ...["wallet.low_balance", "message.delivered", "campaign.failed"],
    ]);
    expect(new Set(events.map(({ id }) => id)).size).to.equal(3);
    expect(asked, "nothing is asked of the service").to.deep.equal([]);
  });
});
