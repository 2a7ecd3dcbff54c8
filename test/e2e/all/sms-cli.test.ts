/** `sms`, the customers' command line, on a real stack. */
import { spawn } from "node:child_process";
import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import stringWidth from "string-width";
import { smsProgram } from "../../../clients/cli/cli/tree.ts";
import { commandsOf } from "../../../services/shared/cli/definition.ts";
import { collectOutput } from "../../support/child-output.ts";
import { COMPILE_CACHE } from "../../support/compile-cache.ts";
import { type Customer, oneProcessStack, type RestStack } from "../../support/rest.ts";
import type { TestStack } from "../../support/stack.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const MAIN = join(import.meta.dirname, "../../../clients/cli/main.ts");
const TO = "+2348031234567";

type Ended = { readonly code: number | null; readonly out: string; readonly err: string };
type Setting = {
  readonly env?: NodeJS.ProcessEnv;
  readonly input?: string;
  /** Ctrl-C when the standard error matches. */
  readonly interruptAt?: RegExp;
};

describe("sms", function () {
  this.timeout(120_000);
  const folder = temporaryFolder("cli");
  let rest: RestStack<TestStack>;
  let customer: Customer;

  before(async function () {
    this.timeout(240_000);
    rest = await oneProcessStack();
    customer = await rest.addCustomer();
  });

  async function run(setting: Setting, ...words: string[]): Promise<Ended> {
    const { SMS_API_KEY: _key, SMS_BASE_URL: _url, ...outer } = process.env;
    const env = {
      ...{ ...outer, ...COMPILE_CACHE },
      ...{ XDG_CONFIG_HOME: folder, SMS_API_KEY: customer.testKey },
      SMS_BASE_URL: rest.stack.gateway,
      ...setting.env,
    };
    const child = spawn(process.execPath, [MAIN, ...words], { env });
    const { seen, ended } = collectOutput(child);
    child.stderr.on("data", () => {
      if (setting.interruptAt?.test(seen.err) === true) child.kill("SIGINT");
    });
    child.stdin.end(setting.input ?? "");
    return { code: await ended, ...seen };
  }

  /** The JSON of a command that ends with 0. */
  async function json(...words: string[]) {
    const { code, out, err } = await run({}, ...words, "--json");
    expect(code, err).to.equal(0);
    return JSON.parse(out);
  }

  const sendOne = (...more: string[]) =>
    json("send", "--from", customer.sender, "--to", TO, "--body", "Hello", ...more);

  function file(name: string, ...lines: string[]): string {
    const path = join(folder, name);
    writeFileSync(path, lines.join("\n"));
    return path;
  }

  it("login checks a key, stores it for its owner only, and later commands use it", async () => {
    const env = { SMS_API_KEY: "", SMS_BASE_URL: "" };
    const none = await run({ env }, "balance");
    expect(none).to.include({ code: 4, out: "" });
    expect(none.err).to.match(/^sms: .*sms login.*\n$/);
    const words = ["login", "--base-url", rest.stack.gateway];
    const wrong = await run({ env, input: "sk_test_unknown\n" }, ...words);
    expect(wrong.code, wrong.err).to.equal(4);
    const right = await run({ env, input: `${customer.testKey}\n` }, ...words);
    expect(right.code, right.err).to.equal(0);
    expect(right.out).to.include("test").and.not.include(customer.testKey);
    expect(statSync(join(folder, "sms/profiles.json")).mode & 0o777).to.equal(0o600);
    const balance = await run({ env }, "balance");
    expect(balance.code, balance.err).to.equal(0);
    const profiles = await run({ env }, "profiles");
    expect(profiles.out).to.include("default").and.not.include(customer.testKey);
  });

  it("sends, lists, and waits for the final status", async () => {
    const sent = await sendOne("--reference", "one");
    const listed = await json("list", "--since", "1h", "--reference", "one");
    expect(listed.map(({ id }: { id: string }) => id)).to.deep.equal([sent.id]);
    const watched = await json("get", sent.id, "--watch");
    expect(watched.status).to.equal("delivered");
    const table = await run({}, "list", "--reference", "one");
    expect(table.out)
      .to.match(/^ID .*STATUS/)
      .and.include(sent.id);
  });

  it("a repeat under a key sends nothing twice", async () => {
    const first = await sendOne("--idempotency-key", "order-1");
    expect((await sendOne("--idempotency-key", "order-1")).id).to.equal(first.id);
  });

  it("several recipients are checked one by one, and a rejected one exits 4", async () => {
    const words = ["--from", customer.sender, "--to", `${TO},12`, "--body", "Hello", "--json"];
    const { code, out } = await run({}, "send", ...words);
    expect(code).to.equal(4);
    expect(JSON.parse(out)).to.include({ accepted: 1, rejected: 1 });
  });

  it("cancels a scheduled message; a second cancel changes nothing", async () => {
    const at = new Date(Date.now() + 3_600_000).toISOString();
    const { id } = await sendOne("--at", at);
    expect((await json("cancel", id)).status).to.equal("cancelled");
    expect((await json("get", id)).status).to.equal("cancelled");
  });

  it("a file with a bad row, sent twice, reaches no number twice", async () => {
    const rows = ["to,name", "08031230001,Ada", "12,Bad", "08031230002,", "08031230003,Chi"];
    const csv = file("parcels.csv", ...rows, "+2348031230003,Chi");
    const words = ["send", "--from", customer.sender, "--csv", csv, "--reference", "file"];
    const send = () => run({}, ...words, "--body", "Hi {{name}}", "--json");
    const first = await send();
    expect(first.code, first.err).to.equal(4);
    expect(first.err).to.include("3 of 3 rows");
    const { rejected_rows, ...total } = JSON.parse(first.out);
    expect(total).to.deep.equal({ accepted: 2, sent_before: 0, rejected: 3 });
    const codes = rejected_rows.map(({ line, code }: { line: number; code: string }) => [
      line,
      code,
    ]);
    expect(codes).to.deep.equal([
      [3, "invalid_recipient"],
      [4, "missing_variable"],
      [6, "duplicate_recipient"],
    ]);
    const second = JSON.parse((await send()).out);
    expect(second).to.include({ accepted: 0, sent_before: 2, rejected: 3 });
    const listed = await json("list", "--reference", "file", "--status", "queued,sent,delivered");
    const bodies = listed.map(({ body }: { body: string }) => body);
    expect(bodies.sort()).to.deep.equal(["Hi Ada", "Hi Chi"]);
  });

  it("after Ctrl-C in a file the same command continues and sends to no number twice", async () => {
    const numbers = Array.from(
      { length: 2500 },
      (_, at) => `0803123${String(at).padStart(4, "0")}`,
    );
    const csv = file("many.csv", "to", ...numbers);
    const words = ["send", "--from", customer.sender, "--csv", csv, "--reference", "many"];
    const text = ["--body", "Hello", "--json"];
    const stopped = await run({ interruptAt: /1000 of 2500/ }, ...words, ...text);
    expect(stopped.code, stopped.err).to.equal(130);
    expect(stopped.err).to.include("interrupted after");
    const { code, out, err } = await run({}, ...words, ...text);
    expect(code, err).to.equal(0);
    const { accepted, sent_before } = JSON.parse(out);
    expect(accepted + sent_before).to.equal(2500);
    expect(sent_before).to.be.greaterThan(999);
    const listed = await json("list", "--reference", "many", "--limit", "5000");
    expect(listed).to.have.length(2500);
    expect(new Set(listed.map(({ to }: { to: string }) => to)).size).to.equal(2500);
  });

  it("campaigns: create, add, estimate, start, get, list", async () => {
    const body = ["--body", "Hello {{name}}"];
    const draft = await json(
      "campaign",
      "create",
      "--name",
      "S",
      "--from",
      customer.sender,
      ...body,
    );
    const csv = file("customers.csv", "to,name", "08031230001,Ada", "12,Bad");
    expect(await json("campaign", "add", draft.id, "--csv", csv)).to.include({
      ...{ taken: 1, rejected: 1 },
    });
    expect((await json("campaign", "estimate", draft.id)).recipients).to.equal(1);
    await json("campaign", "start", draft.id);
    expect((await json("campaign", "get", draft.id, "--watch")).status).to.equal("completed");
    const [listed] = await json("campaign", "list", "--status", "completed");
    expect(listed.id).to.equal(draft.id);
  });

  it("webhooks: list, test, trigger, deliveries, resend", async () => {
    const { body } = await customer.call("POST", "/v1/webhook-endpoints", {
      body: { url: rest.stack.receiver.url },
      apiKey: customer.testKey,
    });
    const { id } = body.data;
    const [listed] = await json("webhook", "list");
    expect(listed.id).to.equal(id);
    const tested = await json("webhook", "test", id);
    expect(await json("trigger", "webhook.test")).to.have.length(1);
    const deliveries = await json("webhook", "deliveries", id, "--event-type", "webhook.test");
    expect(deliveries).to.have.length(2);
    expect((await json("webhook", "resend", id, tested.id)).id).to.equal(tested.id);
    expect(await json("inbound", "list")).to.deep.equal([]);
    expect((await json("sender-ids", "--usable"))[0].name).to.equal(customer.sender);
  });

  it("every list fits 80 and 200 columns", async () => {
    const { body } = await customer.call("GET", "/v1/webhook-endpoints", {
      apiKey: customer.testKey,
    });
    const lists = commandsOf(smsProgram()).filter(({ command }) => command.isList === true);
    expect(lists).to.have.length(7);
    for (const { words, command } of lists) {
      for (const width of [80, 200]) {
        const more = command.args === undefined ? [] : [body.data[0].id];
        const ended = await run({ env: { COLUMNS: String(width) } }, ...words, ...more);
        expect(ended.code, ended.err).to.equal(0);
        const lines = ended.out.split("\n").filter((line) => !line.startsWith("more: "));
        const tooLong = lines.filter((line) => stringWidth(line) > width);
        expect(tooLong, `${words.join(" ")} at ${width}`).to.deep.equal([]);
      }
    }
  });

  it("failures are one line each, with the exit code of their kind", async () => {
    const poor = await rest.addCustomer({ funds: 0n });
    const send = ["send", "--from", poor.sender, "--to", TO, "--body", "Hello"];
    const cases = [
      [{ SMS_API_KEY: `${customer.testKey.slice(0, -4)}0000` }, ["balance"], 4, "unauthenticated"],
      [{ SMS_API_KEY: poor.apiKey }, send, 4, "insufficient_balance"],
      [{}, ["get", "msg_01M8EP88R3BWE8TTYDD9DAQG3Q"], 3, "not_found"],
      [{}, ["list", "--status", "lost"], 2, "validation_error"],
      [{}, [...send, "--at", "2020-01-01T00:00:00Z"], 2, "validation_error"],
      [{ SMS_BASE_URL: "http://127.0.0.1:1" }, ["balance"], 5, "service_unavailable"],
    ] as const;
    for (const [env, words, code, kind] of cases) {
      const ended = await run({ env }, ...words);
      expect(ended.err).to.match(new RegExp(`^sms: [^\\n]+ \\(${kind}\\)\\n$`));
      expect(ended).to.include({ code, out: "" });
    }
    const { err } = await run({ env: { SMS_API_KEY: poor.apiKey } }, ...send);
    expect(err).to.match(/Needed: \d+\.\d{4} NGN; available: 0\.0000\./);
  });
});
