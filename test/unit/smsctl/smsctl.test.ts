import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { expect } from "chai";
import { ChargeSchema, MessageStatus } from "../../../proto/gen/sms/v1/messaging_pb.js";
import { SenderIdSchema, SenderIdStatus } from "../../../proto/gen/sms/v1/sender_id_pb.js";
import { EntrySchema, SettlementSchema } from "../../../proto/gen/sms/v1/wallet_pb.js";
import { AppError } from "../../../services/shared/core/errors.ts";
import { checkCharge } from "../../../services/smsctl/check/check-charge.ts";
import { parseArguments } from "../../../services/smsctl/cli/arguments.ts";
import { wordsMax } from "../../../services/smsctl/cli/command.ts";
import { createOptions } from "../../../services/smsctl/cli/options.ts";
import { createOutput } from "../../../services/smsctl/cli/output.ts";
import { toJson } from "../../../services/smsctl/cli/to-json.ts";
import { smsctl } from "../../support/smsctl.ts";

describe("smsctl's command line", () => {
  it("reads words, options and flags in any order", () => {
    const { words, options } = parseArguments([
      "tenant",
      "--json",
      "--name",
      "A B",
      "create",
      "--rate-limit=5",
    ]);
    expect(words).to.deep.equal(["tenant", "create"]);
    expect([...options]).to.deep.equal([
      ["json", "true"],
      ["name", "A B"],
      ["rate-limit", "5"],
    ]);
  });

  it("refuses a command that there is not, and says which there are", async () => {
    const nowhere = { grpc: {}, grpc_token: "" };
    const verb = await smsctl(nowhere, "tenant", "crate");
    expect(verb).to.include({ code: 1, value: undefined });
    expect(JSON.parse(verb.error).error).to.include({
      code: "validation_error",
      message: 'There is no command "tenant crate"; there are: create, show, list, update.',
    });
    const noun = await smsctl(nowhere, "tennant", "list");
    expect(JSON.parse(noun.error).error.message).to.match(
      /^There is no command "tennant"; .*check/,
    );
  });

  it("refuses an option without its value, and values of the wrong kind", () => {
    expect(() => parseArguments(["tenant", "create", "--name"])).to.throw(AppError, /--name/);
    const options = createOptions(
      parseArguments([
        "--amount",
        "1.00001",
        "--rate-limit",
        "x",
        "--suspended",
        "yes",
        "--since",
        "soon",
      ]),
    );
    expect(() => options.amount("amount")).to.throw(AppError, /--amount/);
    expect(() => options.whole("rate-limit")).to.throw(AppError, /--rate-limit/);
    expect(() => options.boolean("suspended")).to.throw(AppError, /--suspended/);
    expect(() => options.instant("since")).to.throw(AppError, /--since/);
    expect(() => options.required("tenant")).to.throw(AppError, /--tenant/);
  });

  it("takes neither 0 nor an empty text for a default of the services", () => {
    const options = createOptions(
      parseArguments([
        "--rate-limit",
        "0",
        "--binds=00",
        "--window",
        "7",
        "--plan=",
        "--currency",
        "NGN",
      ]),
    );
    expect(() => options.count("rate-limit")).to.throw(AppError, "at least 1");
    expect(() => options.count("binds")).to.throw(AppError, "at least 1");
    expect(options.count("window")).to.equal(7);
    expect(options.count("burst")).to.equal(undefined);
    expect(() => options.named("plan")).to.throw(AppError, "--plan must be given a value.");
    expect(options.named("currency")).to.equal("NGN");
  });

  it("takes no option for the value of another", () => {
    for (const next of ["--tenant", "--tls=false", "--"]) {
      expect(() => parseArguments(["--reason", next])).to.throw("--reason needs a value.");
    }
    expect([...parseArguments(["--reason=--x", "--amount", "-5"]).options]).to.deep.equal([
      ["reason", "--x"],
      ["amount", "-5"],
    ]);
  });

  it("refuses an option that is given twice", () => {
    for (const argv of [
      ["--amount", "5", "--amount", "50"],
      ["--tls", "--tls=false"],
    ]) {
      expect(() => parseArguments(argv)).to.throw(AppError, / is given twice\.$/);
    }
  });

  it("a secret comes from an option or a file, and is never empty", () => {
    const file = join(mkdtempSync(join(tmpdir(), "smsctl-")), "password");
    const secret = (text: string, ...argv: string[]) => {
      writeFileSync(file, text);
      return createOptions(parseArguments(argv)).secret("password");
    };
    expect(secret("")).to.equal(undefined);
    expect(secret("", "--password", "open")).to.equal("open");
    expect(secret("sesame \n", "--password-file", file)).to.equal("sesame ");
    const EMPTY = "--password must not be empty.";
    expect(() => secret("", "--password", "")).to.throw(AppError, EMPTY);
    expect(() => secret("\r\n", "--password-file", file)).to.throw(AppError, EMPTY);
    const both = ["--password", "a", "--password-file", file];
    expect(() => secret("b", ...both)).to.throw(AppError, "--password is given twice.");
    expect(() => secret("b", "--password-file", `${file}.not`)).to.throw(AppError, /ENOENT/);
  });

  it("a flag is true or false, and nothing else passes for false", () => {
    const isSet = (...argv: string[]) => createOptions(parseArguments(argv)).isSet("dry-run");
    expect([isSet("--dry-run"), isSet("--dry-run=true")]).to.deep.equal([true, true]);
    expect([isSet(), isSet("--dry-run=false")]).to.deep.equal([false, false]);
    for (const text of ["yes", "1", "TRUE", ""]) {
      expect(() => isSet(`--dry-run=${text}`)).to.throw(
        AppError,
        "--dry-run must be true or false.",
      );
    }
  });

  it("a list that is there names something", () => {
    const list = (...argv: string[]) => createOptions(parseArguments(argv)).list("scopes");
    expect(list()).to.deep.equal([]);
    expect(list("--scopes", " a,,b ,")).to.deep.equal(["a", "b"]);
    for (const text of ["", ",", " , "]) {
      expect(() => list("--scopes", text)).to.throw(AppError, "--scopes must not be empty.");
    }
  });

  for (const [usage, most] of [
    ["check", 1],
    ["tenant list", 2],
    ["connector list [--watch]", 2],
    ["key revoke KEY_ID | --key KEY_ID; --tenant T", 3],
    ["webhook resend ENDPOINT_ID DELIVERY_ID --tenant T", 4],
    ["connector update C [--rate R] [--host H]", 3],
    ["dead replay [ID…] (none means all)", Number.POSITIVE_INFINITY],
    ["sender-id reject ID_OR_NAME | --name N; --tenant T --reason R", 3],
    ["message list --tenant T [--status S,…]", 2],
  ] as const) {
    it(`"${usage}" takes at most ${most} words`, () => {
      expect(wordsMax(usage)).to.equal(most);
    });
  }

  for (const [surplus, ...words] of [
    ["K2", "key", "revoke", "K1", "K2"],
    ["false", "connector", "update", "C", "--tls", "false"],
    ["T", "tenant", "list", "T"],
  ] as const) {
    it(`refuses the word that is too much in "${words.join(" ")}"`, async () => {
      const { code, error } = await smsctl({ grpc: {}, grpc_token: "" }, ...words);
      expect(code).to.equal(1);
      const { message } = JSON.parse(error).error;
      expect(message).to.include(`"${surplus}" is too much: smsctl ${words[0]} ${words[1]}`);
    });
  }

  it("rejects a value given both as a word and as an option", () => {
    const options = createOptions(parseArguments(["key", "revoke", "K1", "--key", "K2"]));
    expect(() => options.optionOrWord("key", "The key's id")).to.throw(AppError, /K1/);
  });
});

describe("smsctl's output", () => {
  it("empties the screen for people and never inside JSON", () => {
    for (const isJson of [false, true]) {
      const { output, out } = written(isJson);
      output.clear();
      output.note("a line");
      output.result(["one"]);
      expect(out()).to.equal(isJson ? '["one"]\n' : "\u001b[2J\u001b[Ha line\none\n");
    }
  });

  it("prints that a list continues after the result, with --json on standard error", () => {
    for (const isJson of [false, true]) {
      const { output, out, err } = written(isJson);
      output.more("older ones: --cursor X");
      expect([out(), err()]).to.deep.equal(
        isJson ? ["", "older ones: --cursor X\n"] : ["older ones: --cursor X\n", ""],
      );
    }
  });

  it("shows control characters instead of sending them to the terminal", () => {
    const { output, out } = written(false);
    output.result({ body: "a\u001b[2Jb\nc\u009b" });
    output.result([{ body: "x\ty" }]);
    expect(out()).to.equal("body  a\\u001b[2Jb\\u000ac\\u009b\nbody\nx\\u0009y\n");
  });

  it("with --json control characters are JSON escapes", () => {
    const { output, out } = written(true);
    const value = { body: "a\u001b[2Jb\u009b2Jc\u007f" };
    output.result(value);
    expect(out()).to.match(/^[\x20-\x7e]+\n$/);
    expect(JSON.parse(out())).to.deep.equal(value);
  });

  it("shows the columns that only a later row has", () => {
    const { output, out } = written(false);
    output.result([{ connector: "a" }, { connector: "b", error: "bind_refused" }]);
    expect(out()).to.equal("connector  error\na\nb          bind_refused\n");
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

/** An output, and what was written where. */
function written(isJson: boolean) {
  const texts = { out: "", err: "" };
  const sink = (name: keyof typeof texts) => ({
    write(text: string) {
      texts[name] += text;
    },
  });
  const output = createOutput(isJson, sink("out"), sink("err"));
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
