import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { expect } from "chai";
import { parse as parseYaml } from "yaml";
import { ChargeSchema, MessageStatus } from "../../../proto/gen/sms/v1/messaging_pb.js";
import { SenderIdSchema, SenderIdStatus } from "../../../proto/gen/sms/v1/sender_id_pb.js";
import { EntrySchema, SettlementSchema } from "../../../proto/gen/sms/v1/wallet_pb.js";
import { createOptions } from "../../../services/shared/cli/options.ts";
import { createOutput, type Format } from "../../../services/shared/cli/output.ts";
import { formatWhen, parseWhen } from "../../../services/shared/cli/time.ts";
import { AppError } from "../../../services/shared/core/errors.ts";
import { checkCharge } from "../../../services/smsctl/check/check-charge.ts";
import { toJson } from "../../../services/smsctl/cli/to-json.ts";
import { smsctl } from "../../support/smsctl.ts";
import { errorOf, parse } from "../../support/smsctl-fakes.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const NOWHERE = { grpc: {}, grpc_token: "" };

describe("smsctl's command line", () => {
  it("reads words, options and flags in any order", async () => {
    const { args, options } = await parse(
      ...["--json", "tenant", "create", "--name", "A B", "--rate-limit=5", "--actor", "ada"],
    );
    expect(args).to.deep.equal([]);
    expect(Object.fromEntries(options)).to.deep.equal({
      ...{ json: "true", name: "A B", "rate-limit": "5", actor: "ada" },
    });
  });

  for (const [words, hint] of [
    [["tenant", "crate"], "Unknown command 'crate' (Did you mean create?)"],
    [["tennant", "list"], "Unknown command 'tennant' (Did you mean tenant?)"],
    [["tenant", "list", "--sinse", "1h"], "Unknown option '--sinse' (Did you mean --since?)"],
  ] as const) {
    it(`"${words.join(" ")}" exits 2 and suggests the near word`, async () => {
      const { code, value, error } = await smsctl(NOWHERE, ...words);
      expect({ code, value }).to.deep.equal({ code: 2, value: undefined });
      expect(JSON.parse(error).error).to.include({ code: "validation_error", message: hint });
    });
  }

  it("refuses an option without its value, and values of the wrong kind", async () => {
    expect((await errorOf(parse("tenant", "create", "--name"))).message).to.include("--name");
    const options = optionsOf({
      ...{ amount: "1.00001", "rate-limit": "x", suspended: "yes", since: "soon" },
    });
    expect(() => options.amount("amount")).to.throw(AppError, /--amount/);
    expect(() => options.whole("rate-limit")).to.throw(AppError, /--rate-limit/);
    expect(() => options.boolean("suspended")).to.throw(AppError, /--suspended/);
    expect(() => options.instant("since")).to.throw(AppError, /--since/);
    expect(() => options.required("tenant")).to.throw(AppError, /--tenant/);
  });

  it("takes neither 0 nor an empty text for a default of the services", () => {
    const options = optionsOf({
      ...{ "rate-limit": "0", binds: "00", window: "7", plan: "", currency: "NGN" },
    });
    expect(() => options.count("rate-limit")).to.throw(AppError, "at least 1");
    expect(() => options.count("binds")).to.throw(AppError, "at least 1");
    expect(options.count("window")).to.equal(7);
    expect(options.count("burst")).to.equal(undefined);
    expect(() => options.named("plan")).to.throw(AppError, "--plan must be given a value.");
    expect(options.named("currency")).to.equal("NGN");
  });

  it("takes no option for the value of another", async () => {
    const adjust = ["wallet", "adjust", "--tenant", "T"];
    for (const next of ["--tenant", "--amount", "--"]) {
      const error = await errorOf(parse(...adjust, "--amount", "1", "--reason", next));
      expect(error.message, next).to.include("--reason");
    }
    const { options } = await parse(...adjust, "--reason=--x", "--amount", "-5");
    expect([options.get("reason"), options.get("amount")]).to.deep.equal(["--x", "-5"]);
  });

  it("refuses an option that is given twice", async () => {
    const words = ["wallet", "fund", "--tenant", "T", "--amount", "5", "--amount", "50"];
    expect((await errorOf(parse(...words))).message).to.match(/--amount.* It is given twice\.$/);
    const tls = await errorOf(parse("connector", "update", "C", "--tls=true", "--tls=false"));
    expect(tls.message).to.include("It is given twice.");
  });

  it("a flag with a value of its own is on or off", async () => {
    const tls = async (...words: string[]) =>
      createOptions(await parse("connector", "update", "C", ...words)).boolean("tls");
    expect(await tls()).to.equal(undefined);
    expect(await tls("--tls")).to.equal(true);
    expect(await tls("--tls=false")).to.equal(false);
  });

  it("a secret comes from an option or a file, and is never empty", () => {
    const file = join(temporaryFolder("smsctl"), "password");
    const secret = (text: string, given: Record<string, string> = {}) => {
      writeFileSync(file, text);
      return optionsOf(given).secret("password");
    };
    expect(secret("")).to.equal(undefined);
    expect(secret("", { password: "open" })).to.equal("open");
    expect(secret("sesame \n", { "password-file": file })).to.equal("sesame ");
    const EMPTY = "--password must not be empty.";
    expect(() => secret("", { password: "" })).to.throw(AppError, EMPTY);
    expect(() => secret("\r\n", { "password-file": file })).to.throw(AppError, EMPTY);
    const both = { password: "a", "password-file": file };
    expect(() => secret("b", both)).to.throw(AppError, "--password is given twice.");
    expect(() => secret("b", { "password-file": `${file}.not` })).to.throw(AppError, /ENOENT/);
  });

  it("a flag is true or false, and nothing else passes for false", async () => {
    const isSet = async (...words: string[]) => {
      const { options, args } = await parse("route", "import", "R", "--csv", "-", ...words);
      return createOptions({ options, args }).isSet("dry-run");
    };
    expect([await isSet("--dry-run"), await isSet("--dry-run=true")]).to.deep.equal([true, true]);
    expect([await isSet(), await isSet("--dry-run=false")]).to.deep.equal([false, false]);
    for (const text of ["yes", "1", "TRUE", ""]) {
      const error = await errorOf(isSet(`--dry-run=${text}`));
      expect(error.message).to.equal("--dry-run must be true or false.");
    }
  });

  it("a list that is there names something", () => {
    expect(optionsOf({}).list("scopes")).to.deep.equal([]);
    expect(optionsOf({ scopes: " a,,b ," }).list("scopes")).to.deep.equal(["a", "b"]);
    for (const scopes of ["", ",", " , "]) {
      const read = () => optionsOf({ scopes }).list("scopes");
      expect(read).to.throw(AppError, "--scopes must not be empty.");
    }
  });

  for (const words of [
    ["key", "revoke", "K1", "K2", "--tenant", "T"],
    ["tenant", "list", "T"],
    ["audit", "T"],
  ]) {
    it(`refuses the word that is too much in "${words.join(" ")}"`, async () => {
      const error = await errorOf(parse(...words));
      expect(error.message).to.match(/^Too many arguments/);
    });
  }

  it("rejects a value given both as a word and as an option", async () => {
    const parsed = await parse("key", "revoke", "K1", "--key", "K2", "--tenant", "T");
    const read = () => createOptions(parsed).optionOrWord("key", "The key's id");
    expect(read).to.throw(AppError, /K1/);
  });

  it("a time is an age, such as 1h30m, or a date-time; the older names of a range still work", () => {
    const nowMs = Date.UTC(2026, 6, 1, 12);
    expect(parseWhen("1h30m", nowMs)).to.equal(nowMs - 5_400_000);
    expect(parseWhen("2d", nowMs)).to.equal(nowMs - 172_800_000);
    expect(parseWhen("2026-07-01T00:00:00Z", nowMs)).to.equal(Date.UTC(2026, 6, 1));
    for (const text of ["1", "h", "-1h", "1y", "tomorrow", "2026-07-01"]) {
      expect(parseWhen(text, nowMs), text).to.equal(undefined);
    }
    const at = "2026-07-01T00:00:00Z";
    expect(optionsOf({ from: at, until: at }).range()).to.deep.equal({
      ...{ sinceMs: Date.parse(at), untilMs: Date.parse(at) },
    });
    expect(() => optionsOf({ from: at, since: at }).range()).to.throw(AppError, "give one");
  });
});

/** Typed access to options given by name. */
function optionsOf(given: Readonly<Record<string, string>>) {
  return createOptions({ args: [], options: new Map(Object.entries(given)) });
}

describe("smsctl's output", () => {
  it("replaces the screen for people, once there is something to show, and never inside JSON", async () => {
    for (const format of ["table", "json"] as const) {
      const { output, out } = written(format);
      output.clear();
      expect(out()).to.equal("");
      output.note("a line");
      await output.result({ name: "one" });
      const shown = "\u001b[H\u001b[2Ja line\nname  one\n";
      expect(out()).to.equal(format === "json" ? '{"name":"one"}\n' : shown);
    }
  });

  it("prints that a list continues after the result, on standard error for programs", () => {
    for (const format of ["table", "json", "csv"] as const) {
      const { output, out, err } = written(format);
      output.more("older ones: --cursor X");
      const line = "older ones: --cursor X\n";
      expect([out(), err()]).to.deep.equal(format === "table" ? [line, ""] : ["", line]);
    }
  });

  it("shows control characters instead of sending them to the terminal", async () => {
    const { output, out } = written("table");
    await output.result({ body: "a\u001b[2Jb\nc\u009b" });
    await output.list([{ body: "x\ty" }], { columns: ["body"] });
    expect(out()).to.equal("body  a\\u001b[2Jb\\u000ac\\u009b\nBODY\nx\\u0009y\n");
  });

  it("as JSON, control characters are escapes", async () => {
    const { output, out } = written("json");
    const value = { body: "a\u001b[2Jb\u009b2Jc\u007f" };
    await output.result(value);
    expect(out()).to.match(/^[\x20-\x7e]+\n$/);
    expect(JSON.parse(out())).to.deep.equal(value);
  });

  it("shows the columns that have a value in some row", async () => {
    const { output, out } = written("table");
    const rows = [{ connector: "a" }, { connector: "b", error: "bind_refused" }];
    await output.list(rows, { columns: ["connector", "state", "error"] });
    expect(out()).to.equal("CONNECTOR  ERROR\na\nb          bind_refused\n");
  });

  it("YAML and CSV have every field, and CSV no formula", async () => {
    const rows = [
      { id: "msg_1", error: { code: "x", message: 'a, "b"' }, amount: "-4.5000", tags: ["a", "b"] },
      { id: "=1+1", error: null, amount: "2.0000", tags: [] },
    ];
    const csv = written("csv");
    await csv.output.list(rows, { columns: ["id"] });
    expect(csv.out().split("\r\n")).to.deep.equal([
      "id,error.code,error.message,amount,tags,error",
      'msg_1,x,"a, ""b""",-4.5000,a b,',
      "'=1+1,,,2.0000,,",
      "",
    ]);
    const yaml = written("yaml");
    await yaml.output.list(rows, { columns: ["id"] });
    expect(parseYaml(yaml.out())).to.deep.equal(rows);
  });

  it("shows times in the local zone, or in UTC", () => {
    const at = "2026-07-01T12:00:09.123Z";
    expect(formatWhen(at, true)).to.equal("2026-07-01 12:00:09Z");
    const local = formatWhen(at, false);
    expect(new Date(local).getTime()).to.equal(Date.parse("2026-07-01T12:00:09Z"));
    expect(formatWhen("soon", true)).to.equal("soon");
  });

  it("shows amounts as decimals, instants as date-times and enumerations as words", () => {
    const entry = create(EntrySchema, {
      id: "led_1",
      postings: [{ account: "held", amount: -45_000n }],
      balanceAfter: 12_345n,
      createdAtMs: 1_700_000_000_000n,
    });
    expect(toJson(EntrySchema, entry)).to.deep.include({
      id: "led_1",
      postings: [{ account: "held", amount: "-4.5000" }],
      balance_after: "1.2345",
      created_at: "2023-11-14T22:13:20.000Z",
      kind: null,
    });
    const senderId = create(SenderIdSchema, { status: SenderIdStatus.APPROVED });
    expect(toJson(SenderIdSchema, senderId).status).to.equal("approved");
  });
});

/** An output, and its text by sink. */
function written(format: Format) {
  const texts = { out: "", err: "" };
  const sink = (name: keyof typeof texts) => ({
    write(text: string) {
      texts[name] += text;
    },
  });
  const style = { format, isUtc: true, width: undefined, isColoured: false };
  const output = createOutput("smsctl", style, sink("out"), sink("err"));
  return { output, out: () => texts.out, err: () => texts.err };
}

describe("the settlement that a message's status requires", () => {
  const nowMs = 10_000_000;
  const late = BigInt(nowMs - 61_000);
  const fresh = BigInt(nowMs - 59_000);
  const charged = [
    MessageStatus.SENT,
    MessageStatus.DELIVERED,
    MessageStatus.UNDELIVERED,
    MessageStatus.EXPIRED,
  ];
  const released = [MessageStatus.FAILED, MessageStatus.CANCELLED];
  const open = [MessageStatus.SCHEDULED, MessageStatus.QUEUED];

  const charge = (status: MessageStatus, updatedAtMs: bigint, reservationId = "rsv_1") =>
    create(ChargeSchema, {
      messageId: "msg_1",
      reservationId,
      status,
      heldAmount: 100n,
      amount: 80n,
      updatedAtMs,
    });
  const settled = (
    capturedAmount: bigint,
    change: { reservationId?: string; heldAmount?: bigint } = {},
  ) =>
    create(SettlementSchema, {
      reservationId: "rsv_1",
      heldAmount: 100n,
      capturedAmount,
      ...change,
    });

  for (const status of charged) {
    it(`${MessageStatus[status]}: captured at the carrying price, within a minute`, () => {
      expect(checkCharge(charge(status, late), settled(80n), nowMs).kind).to.equal("good");
      expect(checkCharge(charge(status, late), settled(79n), nowMs).kind).to.equal("breach");
      expect(checkCharge(charge(status, late), settled(0n), nowMs).kind).to.equal("breach");
      expect(checkCharge(charge(status, late), settled(101n), nowMs).kind).to.equal("breach");
      const other = settled(80n, { reservationId: "rsv_2" });
      expect(checkCharge(charge(status, late), other, nowMs).kind).to.equal("breach");
      const less = settled(80n, { heldAmount: 90n });
      expect(checkCharge(charge(status, late), less, nowMs).kind).to.equal("breach");
      expect(checkCharge(charge(status, fresh), undefined, nowMs).kind).to.equal("pending");
      expect(checkCharge(charge(status, late), undefined, nowMs).kind).to.equal("breach");
    });
  }

  for (const status of released) {
    it(`${MessageStatus[status]}: released whole, within a minute`, () => {
      expect(checkCharge(charge(status, late), settled(0n), nowMs).kind).to.equal("good");
      expect(checkCharge(charge(status, late), settled(1n), nowMs).kind).to.equal("breach");
      expect(checkCharge(charge(status, fresh), undefined, nowMs).kind).to.equal("pending");
      expect(checkCharge(charge(status, late), undefined, nowMs).kind).to.equal("breach");
    });
  }

  for (const status of open) {
    it(`${MessageStatus[status]}: still held, however old`, () => {
      expect(checkCharge(charge(status, late), undefined, nowMs).kind).to.equal("pending");
      expect(checkCharge(charge(status, late), settled(0n), nowMs).kind).to.equal("breach");
    });
  }

  it("without a hold: never settled", () => {
    expect(checkCharge(charge(MessageStatus.SENT, late, ""), undefined, nowMs).kind).to.equal(
      "good",
    );
    expect(checkCharge(charge(MessageStatus.SENT, late, ""), settled(0n), nowMs).kind).to.equal(
      "breach",
    );
  });
});
