/** The texts of errors that a customer meets in the first hour. */
import { expect } from "chai";
import { refusedKey } from "../../../gateway/auth/refused-key.ts";
import { buildOpenApi } from "../../../gateway/docs/openapi.ts";
import { toProblem } from "../../../gateway/http/problem.ts";
import { parseObject } from "../../../gateway/json/parse.ts";
import { createOperations } from "../../../gateway/operations/all.ts";
import { compileOperations } from "../../../gateway/operations/operation-table.ts";
import { PATTERN_TEXTS } from "../../../gateway/schemas/fault-texts.ts";
import { MESSAGE_LIST } from "../../../gateway/schemas/lists.ts";
import { nearestWord } from "../../../gateway/schemas/nearest-word.ts";
import { compileQuery } from "../../../gateway/schemas/query.ts";
import { BULK_SEND, SINGLE_SEND } from "../../../gateway/schemas/sends.ts";
import { compileSchema } from "../../../gateway/schemas/validate.ts";
import { AppError, asAppError } from "../../../services/shared/core/errors.ts";
import { DOCS_URL, memoryPorts } from "../../support/rest-app.ts";

const VALID = { to: "+2348031234567", from: "Acme", body: "Hello" };
const textsOf = (body: object, schema: object = SINGLE_SEND) =>
  compileSchema(schema)(body).map(({ field, message }) => `${field}: ${message}`);

describe("The text of a wrong field", () => {
  for (const [change, text] of [
    [
      { to: 2348031234567 },
      'to: The value must be a string, not a number, such as "+2348031234567".',
    ],
    [{ to: null }, 'to: The value must be a string, not null, such as "+2348031234567".'],
    [{ body: "" }, "body: The value must have at least 1 character."],
    [{ from: "AVeryLongName" }, "from: The value must have at most 11 characters."],
    [
      { from: "Acme!" },
      "from: The value may have only letters from A to Z, digits, spaces, dots and hyphens, " +
        'such as "Acme".',
    ],
    [
      { send_at: "tomorrow" },
      "send_at: The value must be an RFC 3339 date and time with its offset, " +
        "such as 2027-01-15T09:30:00Z.",
    ],
    [
      { traffic_class: "promotonal" },
      "traffic_class: The value must be one of otp, transactional, promotional or null. " +
        "Did you mean promotional?",
    ],
    [{ sendAt: "x" }, "sendAt: There is no such field. Did you mean send_at?"],
    [
      { urgent: true },
      "urgent: There is no such field. There are to, from, traffic_class, body, client_reference " +
        "and send_at.",
    ],
  ] as const) {
    it(text, () => expect(textsOf({ ...VALID, ...change })).to.deep.equal([text]));
  }

  it("says how many items a list may have", () => {
    const fault = textsOf({ ...VALID, to: [] }, BULK_SEND);
    expect(fault).to.deep.equal(["to: The list must have at least 1 item."]);
  });

  it("says nothing of types for a parameter, which is always text", () => {
    const { faults } = compileQuery(MESSAGE_LIST)("limit=many&statuss=sent&source=apy&limit=1");
    expect(faults.map(({ field, message }) => `${field}: ${message}`)).to.have.members([
      "limit: The parameter is given twice; give it once.",
      "statuss: There is no such parameter. Did you mean status?",
      "source: The value must be one of api, campaign, quick_send or test_send. Did you mean api?",
    ]);
  });

  it("has words for each pattern that a request may break", () => {
    const document = buildOpenApi(createOperations(memoryPorts(), true), {
      baseUrl: "/",
      docsUrl: DOCS_URL,
    });
    const closed = Object.values(document.components.schemas).filter(
      (schema) => (schema as { additionalProperties?: boolean }).additionalProperties === false,
    );
    const queries = Object.values(document.paths).flatMap((path) =>
      Object.values(path).flatMap((operation) =>
        (operation as { parameters: { in: string }[] }).parameters.filter(
          (one) => one.in === "query",
        ),
      ),
    );
    const patterns = [...JSON.stringify([closed, queries]).matchAll(/"pattern":("[^,}]+")/g)];
    expect(patterns).to.have.length.above(3);
    for (const [, pattern = ""] of patterns) {
      expect(PATTERN_TEXTS).to.have.property(JSON.parse(pattern));
    }
  });

  it("is the detail of the problem, an unknown name first", () => {
    const fields = compileSchema(SINGLE_SEND)({ to: "+2348031234567", from: "Acme", text: "Hi" });
    const problem = toProblem(new AppError("validation_error", "", { fields }), "req_1", DOCS_URL);
    expect(problem.detail).to.equal(
      "text: There is no such field. Did you mean body? One more field is wrong.",
    );
  });
});

describe("The nearest word", () => {
  const words = ["to", "from", "body", "client_reference", "send_at", "created_after"];
  for (const [given, meant] of [
    ["sendAt", "send_at"],
    ["send-at", "send_at"],
    ["SEND_AT", "send_at"],
    ["clientReference", "client_reference"],
    ["client_refrence", "client_reference"],
    ["form", "from"],
    ["text", "body"],
    ["recipient", "to"],
    ["priority", undefined],
    ["x".repeat(10_000), undefined],
    ["__proto__", undefined],
  ] as const) {
    it(`of ${given.slice(0, 20)} is ${meant}`, () => {
      expect(nearestWord(given, words)).to.equal(meant);
    });
  }

  it("of a path is one that is served, with its prefix", () => {
    const table = compileOperations(createOperations(memoryPorts(), false));
    expect(table.nearest("/v1/message")).to.equal("/v1/messages");
    expect(table.nearest("/v1/sms/message")).to.equal("/v1/sms/messages");
    expect(table.nearest("/v1/balance/")).to.equal("/v1/balance");
    expect(table.nearest("/balance")).to.equal("/v1/balance");
    expect(table.nearest("/v1/sender_ids")).to.equal("/v1/sender-ids");
    expect(table.nearest("/v1/orders")).to.equal(undefined);
  });
});

describe("The text of malformed JSON", () => {
  const NOT = "The body is not valid JSON:";
  for (const [body, text] of [
    ["", "The body is empty. Send the fields in it, as a JSON object."],
    [
      "to=1&from=2",
      'The body is a form, not JSON. Send a JSON object, such as {"to": "+2348031234567"}.',
    ],
    ['{"a": 1,}', `${NOT} remove the comma before } (line 1, column 9).`],
    ['{"a": [1, 2,\n]}', `${NOT} remove the comma before ] (line 2, column 1).`],
    ["{'a': 1}", `${NOT} names of fields must be in double quotes (line 1, column 2).`],
    ['{"a": Acme}', `${NOT} texts must be in double quotes (line 1, column 7).`],
    ['{"a": +234}', `${NOT} texts must be in double quotes (line 1, column 7).`],
    ['{"a": "b"\n "c": 1}', `${NOT} a comma is missing (line 2, column 2).`],
    ['{"a" 1}', `${NOT} a colon is missing (line 1, column 6).`],
    ['{"a": "b\nc"}', `${NOT} write a line break inside a text as \\n (line 1, column 9).`],
    ['{"a": "\\q"}', `${NOT} write a backslash inside a text as \\\\ (line 1, column 9).`],
    ['{"a": ,}', "The body is not valid JSON (line 1, column 7)."],
    ['{"a": 1} x', `${NOT} texts must be in double quotes (line 1, column 10).`],
    ['{"a": "b', "The JSON is not complete: a quote, bracket or brace is not closed."],
    ['{"a": 1', "The JSON is not complete: a quote, bracket or brace is not closed."],
    ['{"a": [tru', "The JSON is not complete: a quote, bracket or brace is not closed."],
    ["[1]", "The body must be a JSON object, not a list."],
    ["null", "The body must be a JSON object, not null."],
    ['"x"', "The body must be a JSON object, not a string."],
  ] as const) {
    it(`${JSON.stringify(body)}: ${text}`, () => {
      let message = "";
      try {
        parseObject(Buffer.from(body));
      } catch (error) {
        message = asAppError(error).message;
      }
      expect(message).to.equal(text);
    });
  }

  it("takes time linear in the length of the body", () => {
    // Quadratic time would exceed the timeout of a test by far.
    for (const body of [`{"a": "${"x".repeat(4_000_000)}" b}`, `[${" ".repeat(4_000_000)}x`]) {
      expect(() => parseObject(Buffer.from(body))).to.throw("JSON");
    }
  });
});

describe("The refusal of a key", () => {
  const key = `sk_live_${"A".repeat(43)}`;
  for (const [header, text] of [
    [undefined, /^The request has no API key/],
    ["", /^The request has no API key/],
    [key, /^The Authorization header is malformed/],
    ["Basic YTpi", /^The Authorization header is malformed/],
    ["Bearer", /^The Authorization header is malformed/],
    [`Bearer ${key.slice(0, -1)}`, /^This is not an API key/],
    [`Bearer ${key}`, /^The API key is unknown\. /],
    [`bearer  ${key}`, /^The API key is unknown\. /],
  ] as const) {
    it(`${header?.slice(0, 20)}: ${text.source}`, () => {
      expect(refusedKey(header).message).to.match(text);
      expect(refusedKey(header).code).to.equal("unauthenticated");
    });
  }
});
