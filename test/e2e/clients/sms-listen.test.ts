/** `sms listen` and `sms trigger` on the real services, with a server on this computer. */
import { spawn, spawnSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { expect } from "chai";
import { freePorts } from "../../../deploy/dev/ports.ts";
import { collectOutput } from "../../support/child-output.ts";
import { COMPILE_CACHE } from "../../support/compile-cache.ts";
import { eventually } from "../../support/poll.ts";
import { type Customer, type RestStack, sharedRestStack } from "../../support/rest.ts";
import { skipSince } from "../../support/skip.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import {
  answer,
  type Receiver,
  startReceiver,
  verifiedEvents,
} from "../../support/webhook-receiver.ts";

const MAIN = join(import.meta.dirname, "../../../clients/cli/main.ts");

describe("sms listen", function () {
  this.timeout(120_000);
  const children = new Set<ReturnType<typeof spawn>>();
  let receiver: Receiver;
  let url: string;
  let rest: RestStack;
  let customer: Customer;

  before(async () => {
    rest = await sharedRestStack();
    receiver = await startReceiver();
    url = receiver.url();
  });
  after(() => receiver?.close());
  beforeEach(async () => {
    customer = await rest.addCustomer();
    receiver.received.length = 0;
    receiver.behave(answer(200));
  });
  afterEach(() => {
    for (const child of children) child.kill("SIGKILL");
    children.clear();
  });

  /** Starts a command under the test key; `out` grows until it ends. */
  function start(words: readonly string[], apiKey = customer.testKey) {
    const env = {
      ...{ ...process.env, ...COMPILE_CACHE },
      ...{ SMS_API_KEY: apiKey, SMS_BASE_URL: rest.stack.gateway },
    };
    const child = spawn(process.execPath, [MAIN, ...words], { env });
    children.add(child);
    return { ...collectOutput(child), interrupt: () => child.kill("SIGINT") };
  }
  async function run(...words: string[]) {
    const { seen, ended } = start(words);
    return { code: await ended, ...seen };
  }
  async function listen(...words: string[]) {
    const listening = start(["listen", ...words]);
    const { seen } = listening;
    await until(() => `${seen.out}${seen.err}`.includes("Ready"), "that it is ready");
    return listening;
  }
  const until = (isDone: () => boolean | Promise<boolean>, what: string) =>
    eventually(isDone, { timeoutMs: 60_000, what });

  it("sends each event to the local server, signed with the secret that it prints", async () => {
    const { seen, ended, interrupt } = await listen("--forward-to", url);
    await until(() => seen.out.includes("whsec_"), "the secret");
    const secret = /whsec_\S+/.exec(seen.out)?.[0] ?? "";
    expect((await run("listen", "--print-secret")).out).to.equal(`${secret}\n`);
    const caused = await run("trigger", "message.undelivered", "--json");
    expect(caused.code, caused.err).to.equal(0);
    const { id } = JSON.parse(caused.out);
    const types = ["message.status_changed", "message.sent", "message.undelivered"];
    await until(() => receiver.received.length === 4, "four events");
    const events = await verifiedEvents(receiver, secret);
    expect(new Set(events.map(({ type }) => type))).to.deep.equal(new Set(types));
    await until(() => seen.out.split("200 in").length === 5, "a line for each");
    expect(seen.out).to.include(id);
    interrupt();
    expect(await ended, "Ctrl-C").to.equal(130);
    expect(seen.err).to.equal("");
  });

  it("shows a refusal or a missing server in the line, and continues", async () => {
    receiver.behave(answer(500));
    const words = ["--events", "message.cancelled", "--forward-to"];
    const refused = await listen(...words, url);
    const away = await listen(...words, "http://127.0.0.1:1/");
    expect((await run("trigger", "message.cancelled")).code).to.equal(0);
    await until(() => refused.seen.out.includes("→ 500 in"), "the status");
    await until(() => away.seen.out.includes("→ "), "the failure");
    expect(away.seen.out).to.match(/message\.cancelled .*→ (ECONNREFUSED|bad port)/);
    receiver.behave(answer(200));
    expect((await run("trigger", "message.cancelled")).code).to.equal(0);
    await until(() => refused.seen.out.includes("→ 200 in"), "the next event");
  });

  it("prints one event a line with --json, of campaigns too", async () => {
    const listening = await listen("--json", "--events", "campaign.started,campaign.paused");
    const lines = () =>
      listening.seen.out
        .split("\n")
        .slice(0, -1)
        .map((line) => JSON.parse(line));
    expect((await run("trigger", "campaign.paused")).code).to.equal(0);
    await until(() => lines().length > 0, "an event");
    expect(lines()[0]).to.include({ type: "campaign.started", api_version: "v1" });
    await until(() => lines().some(({ type }) => type === "campaign.paused"), "the pause");
  });

  it("trigger --forward-to sends a sample of any type with a new id to the local server alone", async () => {
    for (const type of ["wallet.low_balance", "inbound_message.received", "message.delivered"]) {
      const sent = await run("trigger", type, "--forward-to", url, "--json");
      expect(sent.code, sent.err).to.equal(0);
    }
    const secret = (await run("listen", "--print-secret")).out.trim();
    const events = await verifiedEvents(receiver, secret);
    expect(events.map(({ type }) => type)).to.have.members([
      ...["wallet.low_balance", "inbound_message.received", "message.delivered"],
    ]);
    expect(new Set(events.map(({ id }) => id)).size).to.equal(3);
    receiver.behave(answer(400));
    expect((await run("trigger", "wallet.funded", "--forward-to", url)).code, "refused").to.equal(
      4,
    );
  });

  for (const [language, command, probe] of [
    ["ts", process.execPath, [process.execPath, "--version"]],
    ["py", "python3", ["python3", "--version"]],
  ] as const) {
    it(`the server in the guide says whether a sample is genuine: ${language}`, async function () {
      const [tool, ...args] = probe;
      if (spawnSync(tool, args).status !== 0) skipSince(this, `there is no ${tool}`);
      const guide = await (
        await fetch(`${rest.stack.gateway}/docs/guides/verify-webhooks.md`)
      ).text();
      const programs = [...guide.matchAll(/^```(\w+) tab=\w+\n([\s\S]*?)^```/gm)];
      const [verify = "", server = ""] = programs
        .filter(([, name]) => name === language)
        .map(([, , text]) => text);
      const folder = temporaryFolder("guide");
      try {
        const [port = 0] = await freePorts(1);
        writeFileSync(join(folder, "package.json"), '{"type": "module"}');
        writeFileSync(join(folder, `verify.${language}`), verify);
        writeFileSync(join(folder, `server.${language}`), server.replace("3000", String(port)));
        const secret = (await run("listen", "--print-secret")).out.trim();
        for (const [WEBHOOK_SECRET, word, code] of [
          [secret, "genuine", 0],
          ["whsec_other", "refused", 4],
        ] as const) {
          const env = { ...process.env, WEBHOOK_SECRET };
          const child = spawn(command, [`server.${language}`], { cwd: folder, env });
          children.add(child);
          const { seen, ended } = collectOutput(child);
          await until(() => accepts(port), "the server");
          const url = `http://localhost:${port}`;
          const sent = await run("trigger", "message.delivered", "--forward-to", url);
          expect(sent.code, sent.err).to.equal(code);
          await until(() => seen.out.includes('"message.delivered"'), "the event");
          expect(seen.out).to.match(new RegExp(`^${word} \\{`));
          child.kill("SIGKILL");
          await ended;
        }
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    });
  }

  it("trigger sends nothing under a live key", async () => {
    const { seen, ended } = start(["trigger", "message.sent"], customer.apiKey);
    expect(await ended).to.equal(4);
    expect(seen.err).to.match(/use a test key/);
  });

  it("trigger says in one line what it cannot cause", async () => {
    for (const [type, text] of [
      ["aeroplane.flown", /no event type: message\.status_changed, /],
      ["message.deliverd", /no event type\. Did you mean message\.delivered\?/],
      ["webhook.test", /no enabled endpoint in test mode\. POST \/v1\/webhook-endpoints makes/],
      ["wallet.funded", /cannot cause wallet\.funded\. With --forward-to/],
    ] as const) {
      const { code, err } = await run("trigger", type);
      expect(code).to.be.oneOf([2, 3, 4]);
      expect(err)
        .to.match(text)
        .and.match(/^sms: [^\n]*\n$/);
    }
    const wrongUrl = await run("listen", "--forward-to", "http://");
    expect(wrongUrl.code).to.equal(2);
  });
});

/** Whether something listens at the port. */
function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("error", () => resolve(false));
    socket.once("connect", () => resolve(true)).once("connect", () => socket.destroy());
  });
}
