/** The screens of smsctl on real data, at the widths of a small and a large terminal. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { expect } from "chai";
import stringWidth from "string-width";
import { commandsOf } from "../../../services/shared/cli/definition.ts";
import { smsctlProgram } from "../../../services/smsctl/cli/tree.ts";
import { COMPILE_CACHE } from "../../support/compile-cache.ts";
import { insertDeadLetter } from "../../support/dead-letter.ts";
import type { Owned } from "../../support/isolation-rpc-cases.ts";
import { ISOLATION_SETTINGS, makeOwned, OWNERS } from "../../support/isolation-world.ts";
import { type Customer, openRestStack, type RestStack } from "../../support/rest.ts";
import { settingsOf } from "../../support/smsctl.ts";
import { ONE_PROCESS, type TestStack } from "../../support/stack.ts";

const MAIN = join(import.meta.dirname, "../../../services/smsctl/main.ts");
const LISTS = commandsOf(smsctlProgram())
  .filter(({ command }) => command.isList === true)
  .map(({ words }) => words.join(" "));

describe("smsctl's screens", function () {
  this.timeout(120_000);
  let rest: RestStack<TestStack>;
  let owner: Customer;
  let own: Owned;

  before(async function () {
    this.timeout(240_000);
    rest = await openRestStack(ISOLATION_SETTINGS, { processes: ONE_PROCESS });
    owner = await rest.addCustomer();
    own = await makeOwned(rest, owner);
    // Wide characters, a long text and terminal commands.
    for (const body of ["您的订单已发货 🚚 ".repeat(8), "\u001b[2J\r\nhello", "x".repeat(700)]) {
      const body_ = { to: OWNERS.to, from: OWNERS.sender, body };
      const { status, text } = await owner.call("POST", "/v1/sms/messages", { body: body_ });
      expect(status, text).to.equal(202);
    }
    await insertDeadLetter(rest.stack.mongodb_uri, "sms_wallet", owner.tenantId);
    const link = ["console", "link", "--operator", "--person", "ada@example.org"];
    const { code, out } = await run(80, ...link, "--role", "support");
    expect(code, out).to.equal(0);
  });
  after(async function () {
    this.timeout(60_000);
    await rest?.close();
  });

  /** The words of each list after its name. */
  const more = (): Readonly<Record<string, readonly string[]>> => {
    const of = ["--tenant", owner.tenantId];
    return {
      "message find": [OWNERS.to, "--since", "1d"],
      "message list": [...of, "--since", "1d"],
      "campaign list": [...of, "--since", "1d"],
      "campaign recipients": [own.draft, ...of],
      "inbound list": [...of, "--since", "1d"],
      "inbound-number list": ["--since", "1d"],
      "suppression list": [...of, "--since", "1d"],
      "webhook list": [...of, "--since", "1d"],
      "webhook deliveries": [own.endpoint, ...of, "--since", "1d"],
      "tenant list": ["--since", "1d"],
      "key list": [...of, "--since", "1d"],
      "sender-id list": [...of, "--since", "1d"],
      "wallet entries": [...of, "--since", "1d"],
      "wallet audit": [...of, "--since", "1d"],
      "connector list": [],
      "connector health": [],
      "connector queues": [],
      "connector unmatched": [],
      "connector inbound-urls": [],
      "console people": of,
      "console operators": [],
      "quiet-hours list": [],
      "route list": ["--since", "1d"],
      "dead list": ["--since", "1d"],
      audit: ["--since", "1d"],
      "context list": [],
    };
  };
  /** Nothing is there to be listed on a healthy stack. */
  const EMPTY = [
    ...["connector unmatched", "connector health", "connector queues", "connector inbound-urls"],
    ...["context list", "wallet audit", "quiet-hours list"],
  ];

  function run(width: number, ...words: string[]): Promise<{ code: number; out: string }> {
    const env = {
      ...{ ...process.env, ...COMPILE_CACHE },
      ...settingsOf(rest.stack),
      CARRIER_OPS: rest.stack.ops.carrier,
      COLUMNS: String(width),
    };
    return new Promise((resolve) => {
      execFile(process.execPath, [MAIN, ...words], { env }, (error, out, err) => {
        const code = error === null ? 0 : Number(error.code);
        resolve({ code, out: code === 0 ? out : `${out}${err}` });
      });
    });
  }

  it("every list has a row in this test", () => {
    expect(Object.keys(more()).sort()).to.deep.equal([...LISTS].sort());
  });

  for (const name of LISTS) {
    it(`${name} fits 80 and 200 columns, without JSON in it`, async () => {
      const words = [...name.split(" "), ...(more()[name] ?? [])];
      const screens = await Promise.all(
        [80, 200].map(async (width) => ({ width, ...(await run(width, ...words)) })),
      );
      for (const { width, code, out } of screens) {
        expect(code, out).to.equal(0);
        const lines = out.split("\n").filter((line) => !/^(older ones|more): /.test(line));
        const tooLong = lines.filter((line) => stringWidth(line) > width);
        expect(tooLong, `${width} columns`).to.deep.equal([]);
        expect(out).to.not.match(/[{[]"/).and.not.include("\u001b");
        if (!EMPTY.includes(name)) expect(out).to.match(/^[A-Z][A-Z ,]+\n *\S/);
      }
    });
  }

  it("formats for programs have every row", async () => {
    const words = [...["tenant", "list", "--since", "1d"], "-o"];
    const { out } = await run(80, ...words, "json");
    const rows = JSON.parse(out) as { id: string }[];
    expect(rows.map(({ id }) => id)).to.include(owner.tenantId);
    const csv = (await run(80, ...words, "csv")).out.trim().split("\r\n");
    expect(csv).to.have.length(rows.length + 1);
    const yaml = (await run(80, ...words, "yaml")).out;
    expect(yaml.match(/^- id: /gm)).to.have.length(rows.length);
  });

  it("message show and find need no tenant; an unknown message exits 3", async () => {
    const shown = await run(80, "message", "show", own.message);
    expect(shown.out).to.match(/^status +delivered$/m);
    expect(shown.out).to.match(/^history\n {2}STATUS /m);
    const found = await run(200, "message", "find", OWNERS.to);
    expect(found.out).to.include(own.message);
    const unknown = await run(80, "message", "show", "msg_01M8EJE45C1CM17RN382NQZ7HH");
    expect(unknown.code).to.equal(3);
  });

  it("route explain says whether, why and for how much in 80 columns; audit names the methods", async () => {
    const explained = await run(80, "route", "explain", OWNERS.to);
    expect(explained.out).to.match(/^ROUTE +CHOSEN +PRICE +CONNECTOR +WHY/m);
    expect(explained.out).to.match(/^\S+ +yes +\d+\.\d{4} /m);
    const listed = await run(80, "audit", "--since", "1d", "--method", "CreateTenant");
    expect(listed.out).to.match(/ CreateTenant /);
  });

  it("a refusal exits 4, and a wrong token too", async () => {
    const cancel = ["message", "cancel", own.message, "--tenant", owner.tenantId];
    expect((await run(80, ...cancel)).code).to.equal(4);
  });
});
