import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { expect } from "chai";
import fc from "fast-check";
import { parseRequestTarget } from "../../../gateway/http/request-target.ts";
import { readIdempotencyKey } from "../../../gateway/idempotency/key.ts";
import { JSON_BOUNDS, parseObject } from "../../../gateway/json/parse.ts";
import { countMembers, prescanJson } from "../../../gateway/json/prescan.ts";
import type { Operation } from "../../../gateway/operations/operation.ts";
import {
  allowedMethods,
  compileOperations,
  operationFor,
} from "../../../gateway/operations/operation-table.ts";
import { parseSendAt } from "../../../gateway/operations/sends/parse-send-at.ts";
import { BATCH, BULK } from "../../../gateway/operations/sends/send-operations.ts";
import { MESSAGE_LIST, SENDER_ID_LIST } from "../../../gateway/schemas/lists.ts";
import { compileQuery } from "../../../gateway/schemas/query.ts";
import { BATCH_SEND, SINGLE_SEND } from "../../../gateway/schemas/sends.ts";
import { compileSchema } from "../../../gateway/schemas/validate.ts";
import { SendMessagesRequestSchema } from "../../../proto/gen/sms/v1/messaging_pb.js";

describe("a request target", () => {
  for (const [target, path, query] of [
    ["/v1/messages", "/v1/messages", ""],
    ["/v1/messages?limit=1", "/v1/messages", "limit=1"],
    ["/a?b=?c", "/a", "b=?c"],
    ["/a#b?c", "/a", ""],
    ["/a?b#c", "/a", "b"],
    ["http://host:80/a?b", "/a", "b"],
    ["HTTPS://host", "/", ""],
    ["http://host?a", "/", "a"],
    ["*", "*", ""],
    ["//evil/a", "//evil/a", ""],
  ] as const) {
    it(`${target} is the path ${path} and the query "${query}"`, () => {
      expect(parseRequestTarget(target)).to.deep.equal({ path, query });
    });
  }

  it("is parsed without error for any text", () => {
    fc.assert(fc.property(fc.string(), (text) => void parseRequestTarget(text)));
  });
});

describe("the operation table", () => {
  const endpoint = (method: Operation["method"], path: string, isRemoved = false) =>
    ({ method, path, isRemoved }) as unknown as Operation;
  const routes = compileOperations([
    endpoint("GET", "/v1/things"),
    endpoint("POST", "/v1/things", true),
    endpoint("GET", "/v1/things/:id"),
    endpoint("POST", "/v1/things/:id/stop"),
    endpoint("GET", "/v1/things/special"),
  ]);

  it("finds paths with and without parameters, exactly", () => {
    expect(routes.match("/v1/things")?.path).to.equal("/v1/things");
    expect(routes.match("/v1/things/a%20b")?.params).to.deep.equal({ id: "a b" });
    expect(routes.match("/v1/things/7/stop")?.params).to.deep.equal({ id: "7" });
    expect(routes.match("/v1/things/special")?.path).to.equal("/v1/things/special");
    for (const path of [
      "/v1/things/",
      "/V1/things",
      "/v1",
      "/v1/things/7/stop/",
      "/v1/things//stop",
    ]) {
      expect(routes.match(path), path).to.equal(undefined);
    }
  });

  it("leaves a malformed percent-encoding as it is", () => {
    expect(routes.match("/v1/things/%zz")?.params).to.deep.equal({ id: "%zz" });
  });

  it("serves HEAD by GET, and does not list a removed method", () => {
    const match = routes.match("/v1/things");
    expect(operationFor(match, "HEAD")?.method).to.equal("GET");
    expect(operationFor(match, "PUT")).to.equal(undefined);
    expect(match === undefined ? "" : allowedMethods(match)).to.equal("GET, HEAD, OPTIONS");
  });

  it("refuses to serve one operation twice", () => {
    expect(() => compileOperations([endpoint("GET", "/a"), endpoint("GET", "/a")])).to.throw(
      "twice",
    );
  });
});

describe("JSON bodies", () => {
  it("have as many members in their text as in their value, unless a name is duplicate", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(0, 2), (value, indent) => {
        const text = Buffer.from(JSON.stringify(value, null, indent));
        expect(prescanJson(text, JSON_BOUNDS).members).to.equal(countMembers(value));
      }),
    );
  });

  it("are prescanned without error for any bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => void prescanJson(Buffer.from(bytes), JSON_BOUNDS)),
    );
  });

  it("are measured like a parser reads them, with long strings full of quotes and backslashes", () => {
    const piece = fc.constantFrom(
      '"',
      "\\",
      "\\\\",
      "[",
      "{",
      ":",
      ",",
      "a".repeat(63),
      "₦".repeat(40),
    );
    fc.assert(
      fc.property(fc.array(fc.array(piece, { maxLength: 60 })), (texts) => {
        const strings = texts.map((pieces) => pieces.join(""));
        const json = Buffer.from(JSON.stringify({ strings }));
        const { depth, containers, members, commas } = prescanJson(json, JSON_BOUNDS);
        const expected = [2, 2, 1, Math.max(0, strings.length - 1)];
        expect([depth, containers, members, commas]).to.deep.equal(expected);
      }),
    );
  });

  const many = (count: number, one: (at: number) => string) =>
    Array.from({ length: count }, (_, at) => one(at)).join(",");
  for (const [name, text, message] of [
    ["objects and arrays", `{"x":[${many(16_384, () => "[]")}]}`, "16384 objects and arrays"],
    [
      "members",
      `{"x":[${many(7001, () => `{${many(10, (at) => `"n${at}":1`)}}`)}]}`,
      "70000 members",
    ],
    ["members of one object", `{${many(4098, (at) => `"n${at}":1`)}}`, "4096 members"],
    ["values", `{"x":[${many(150_002, () => "1")}]}`, "150000 values"],
  ] as const) {
    it(`with too many ${name} are invalid_json, before they are parsed`, () => {
      // The text is cut behind the excess, so a parser would find another fault.
      expect(() => parseObject(Buffer.from(text.slice(0, -2)))).to.throw(message);
    });
  }

  it("of 10,000 recipients, 1,000 rows of 64 variables or 1,000 escaped texts are within the bounds", () => {
    const to = Array.from({ length: 10_000 }, () => "+2348031234567");
    const item = { to: "+2348031234567", body: "₦".repeat(670), client_reference: "a" };
    const escaped = JSON.stringify(item).replaceAll("₦", "\\u20a6");
    const batch = `{"from":"Acme","messages":[${many(1000, () => escaped)}]}`;
    expect(parseObject(Buffer.from(JSON.stringify({ to }))).size).to.equal(10_000);
    const variables = `{${many(64, (at) => `"v${at}":"x"`)}}`;
    const row = `{"to":"+2348031234567","client_reference":"a","variables":${variables}}`;
    const rows = `{"recipients":[${many(1000, () => row)}]}`;
    expect(parseObject(Buffer.from(rows)).size).to.be.above(67_000);
    expect(parseObject(Buffer.from(batch)).size).to.equal(6002);
  });

  it("nest at most 64 levels", () => {
    const nested = (depth: number) =>
      Buffer.from(`${'{"a":'.repeat(depth - 1)}{}${"}".repeat(depth - 1)}`);
    expect(parseObject(nested(64)).size).to.equal(63);
    expect(() => parseObject(nested(65))).to.throw("nested too deeply");
  });

  it("keep every character of their texts", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        const { value } = parseObject(Buffer.from(JSON.stringify({ text })));
        expect(value.text).to.equal(text);
      }),
    );
  });
});

describe("query strings", () => {
  const read = compileQuery(MESSAGE_LIST);
  const codes = (query: string) => read(query).faults.map(({ field, code }) => `${field} ${code}`);

  it("give repeated statuses, numbers and instants", () => {
    const { values, faults } = read(
      "status=queued&limit=7&status=sent&created_after=2026-11-01T00:00:00+01:00&from=A%20b&to=+234",
    );
    expect(faults).to.deep.equal([]);
    expect({ ...values }).to.deep.equal({
      status: ["queued", "sent"],
      limit: 7,
      // An unencoded + is restored: an offset cannot begin with a space.
      created_after: "2026-11-01T00:00:00+01:00",
      from: "A b",
      to: " 234",
    });
  });

  for (const [query, ...wanted] of [
    ["limit=1&limit=2", "limit invalid_value"],
    ["from=a&from=a", "from invalid_value"],
    ["limit=1.5", "limit invalid_type"],
    ["limit=", "limit invalid_type"],
    ["limit=-1", "limit out_of_range"],
    ["limit=9999999999999999999", "limit invalid_type"],
    ["status=gone", "status invalid_value"],
    ["status=queued,sent", "status invalid_value"],
    ["status=", "status invalid_value"],
    ["stauts=queued", "stauts unknown_field"],
    ["Status=queued", "Status unknown_field"],
    ["status[]=queued", "status[] unknown_field"],
    ["status[0]=queued&status[1]=no", "status[0] unknown_field", "status[1] unknown_field"],
    ["__proto__=1", "__proto__ unknown_field"],
    ["=1", " unknown_field"],
    ["campaign_id=cmp_1", "campaign_id invalid_format"],
    ["created_after=yesterday", "created_after invalid_format"],
    ["created_before=2026-02-31T00:00:00Z", "created_before invalid_format"],
    [`cursor=${"x".repeat(257)}`, "cursor too_long"],
    [`from=${"x".repeat(65)}`, "from too_long"],
    [`to=${"1".repeat(257)}`, "to too_long"],
    [`client_reference=${"x".repeat(65)}`, "client_reference too_long"],
    ["from=%ff", "from invalid_format"],
  ] as const) {
    it(`refuse ${query.slice(0, 50)} as ${wanted.join(", ")}`, () => {
      expect(codes(query)).to.deep.equal(wanted);
    });
  }

  it("read true and false", () => {
    const readSenders = compileQuery(SENDER_ID_LIST);
    expect(readSenders("usable=true").values.usable).to.equal(true);
    expect(readSenders("usable=false").values.usable).to.equal(false);
    expect(readSenders("usable=1").faults[0]?.code).to.equal("invalid_type");
  });

  it("are parsed without error for any text", () => {
    fc.assert(fc.property(fc.string(), (text) => void read(text)));
  });
});

describe("idempotency keys", () => {
  for (const good of ["a", "A_z-09", "k".repeat(64)]) {
    it(`${good.slice(0, 20)} is valid`, () => {
      expect(readIdempotencyKey(good)).to.deep.equal({ key: good, faults: [] });
    });
  }
  for (const bad of ["", " a", "a b", "k".repeat(65), "ключ", "a,b", "a.b"]) {
    it(`"${bad.slice(0, 20)}" is invalid`, () => {
      expect(readIdempotencyKey(bad).faults[0]).to.include({
        field: "Idempotency-Key",
        code: "invalid_format",
      });
    });
  }
});

describe("field errors", () => {
  const single = compileSchema(SINGLE_SEND);
  const batch = compileSchema(BATCH_SEND);
  const codes = (errors: ReturnType<typeof single>) =>
    errors.map(({ field, code }) => `${field} ${code}`).sort();

  it("are reported all at once, one per field, under the name the customer wrote", () => {
    expect(
      codes(single({ to: 1, from: "x", body: "", more: 1, client_reference: 5 })),
    ).to.deep.equal([
      "body too_short",
      "client_reference invalid_type",
      "from too_short",
      "more unknown_field",
      "to invalid_type",
    ]);
  });

  it("of items are named by their index", () => {
    const messages = [{ to: "1", body: "x" }, { to: 2 }, "no", { to: "1", body: "x", extra: 1 }];
    expect(codes(batch({ from: "Acme", messages }))).to.deep.equal([
      "messages[1].body required",
      "messages[1].to invalid_type",
      "messages[2] invalid_type",
      "messages[3].extra unknown_field",
    ]);
  });

  it("contain no lone surrogate in field names", () => {
    for (const name of ["\ud800", `a${"\ud83d\ude00".repeat(60)}`]) {
      const [fault] = single({ to: "1", from: "Acme", body: "x", [name]: 1 });
      expect(fault?.field.isWellFormed()).to.equal(true);
      expect(fault?.code).to.equal("unknown_field");
    }
  });

  it("a batch takes no send_at", () => {
    const body = { from: "Acme", messages: [{ to: "1", body: "x" }], send_at: null };
    expect(codes(batch(body))).to.deep.equal(["send_at unknown_field"]);
  });

  it("of a very large body are at least one", () => {
    const body = Object.fromEntries(Array.from({ length: 60_000 }, (_, at) => [`f${at}`, 0]));
    expect(single(body, 60_000)).to.have.length.within(1, 1000);
  });
});

describe("recipients of a list", () => {
  const lone = ["\ud800", "0803\udc00", "\ud83d\ude00"];
  const kinds = [
    ["bulk", BULK, { to: lone, body: "x" }],
    ["batch", BATCH, { messages: lone.map((to) => ({ to, body: "x" })) }],
  ] as const;
  for (const [name, kind, body] of kinds) {
    it(`of a ${name} have lone surrogates replaced, so that a replay is equal`, () => {
      const sent = create(SendMessagesRequestSchema, kind.read(body));
      const received = fromBinary(
        SendMessagesRequestSchema,
        toBinary(SendMessagesRequestSchema, sent),
      );
      const texts = ({ recipients }: typeof sent) => recipients.map(({ to }) => to);
      expect(texts(sent)).to.deep.equal(["\ufffd", "0803\ufffd", "\ud83d\ude00"]);
      expect(texts(received)).to.deep.equal(texts(sent));
    });
  }
});

describe("send_at", () => {
  const bounds = { minMs: 60_000, maxMs: 7_776_000_000 };
  const now = Date.parse("2026-11-21T12:00:00.000Z");
  for (const [minMs, maxMs, words] of [
    [60_000, 7_776_000_000, "from 1 minute to 90 days"],
    [1500, 5_400_000, "from 1500 ms to 90 minutes"],
    [0, 3_600_000, "from 0 ms to 1 hour"],
  ] as const) {
    it(`is refused with the configured bounds: ${words}`, () => {
      const reading = parseSendAt("2027-11-21T12:00:00Z", now, { minMs, maxMs });
      const text = "fault" in reading ? reading.fault.message : "";
      expect(text).to.equal(`The time must be ${words} from now.`);
    });
  }

  for (const [value, wanted] of [
    [undefined, 0],
    [null, 0],
    ["2026-11-21T12:01:00Z", now + 60_000],
    ["2026-11-21T13:01:00.000000001+01:00", now + 60_000],
    ["2026-11-21t12:01:00z", now + 60_000],
    ["2026-11-21T12:00:59Z", now + 59_000],
    ["2026-11-21T12:00:58.999Z", "out_of_range"],
    ["2027-02-19T12:00:00Z", now + 7_776_000_000],
    ["2027-02-19T12:00:00.001Z", "out_of_range"],
    ["2026-11-21 12:01:00Z", "invalid_format"],
    ["2026-11-31T12:00:00Z", "invalid_format"],
    ["2026-12-31T23:59:60Z", "invalid_format"],
    ["2026-11-22", "invalid_format"],
    ["2026-11-22T12:00:00", "invalid_format"],
  ] as const) {
    it(`${value} is ${wanted}`, () => {
      const reading = parseSendAt(value, now, bounds);
      expect("fault" in reading ? reading.fault.code : reading.sendAtMs).to.equal(wanted);
    });
  }
});
