import { expect } from "chai";
import * as fc from "fast-check";
import {
  readHttpFailure,
  readHttpResponse,
  readRetryAfter,
} from "../../../services/carrier/domain/http-response.ts";
import { fillTemplate, readPointer } from "../../../services/carrier/domain/http-template.ts";
import { makeReceiptUrl, readReceiptPath } from "../../../services/carrier/domain/receipt-url.ts";
import { httpThrottleScopes } from "../../../services/carrier/domain/throttling.ts";

const VALUES = { to: "+234", from: "DEMO", body: "x", message_id: "m", receipt_url: "http://h/r" };
const JSON_TYPE = "application/json";
const FORM_TYPE = "application/x-www-form-urlencoded";

describe("requests from a template", () => {
  it("a text stays inside its JSON string, quoted or bare in the template", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (body) => {
        for (const template of [
          '{"text":{{body}},"to":{{to}}}',
          '{"text":"{{body}}","to":"{{to}}"}',
        ]) {
          const filled = fillTemplate(template, JSON_TYPE, { ...VALUES, body });
          expect(JSON.parse(filled)).to.deep.equal({ text: body, to: "+234" });
        }
      }),
    );
  });

  it("a text stays inside its form value", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (body) => {
        const filled = fillTemplate("text={{body}}&to={{to}}", FORM_TYPE, { ...VALUES, body });
        const read = Object.fromEntries(new URLSearchParams(filled));
        expect(read).to.deep.equal({ text: body, to: "+234" });
      }),
    );
  });

  it("a value that has the form of a placeholder is not replaced again", () => {
    const filled = fillTemplate("{{body}}", JSON_TYPE, { ...VALUES, body: "{{to}}" });
    expect(JSON.parse(filled)).to.equal("{{to}}");
  });

  it("JSON pointers follow RFC 6901 section 5", () => {
    const document = { foo: ["bar", "baz"], "": 0, "a/b": 1, "m~n": 8 };
    expect(readPointer(document, "")).to.equal(document);
    expect(readPointer(document, "/foo/0")).to.equal("bar");
    expect(readPointer(document, "/")).to.equal(0);
    expect(readPointer(document, "/a~1b")).to.equal(1);
    expect(readPointer(document, "/m~0n")).to.equal(8);
    expect(readPointer(document, "/foo/7")).to.equal(undefined);
    expect(readPointer(document, "/__proto__")).to.equal(undefined);
  });
});

describe("the outcome of an HTTP answer", () => {
  const RULES = {
    ...{ idPointer: "/id", scopes: httpThrottleScopes({}) },
    ...{ errorPointer: "", submitErrorCodes: {} },
  };
  const table = [
    [200, '{"id":"c7"}', "accepted"],
    [202, '{"id":17}', "accepted"],
    [200, "{}", "unknown"],
    [200, "<html>", "unknown"],
    [302, "", "unknown"],
    [400, "", "refused permanent"],
    [404, "", "refused permanent"],
    [401, "", "refused temporary"],
    [402, "", "refused temporary"],
    [408, "", "refused temporary"],
    [429, "", "refused throttled"],
    [503, "", "refused throttled"],
    [500, "", "unknown"],
    [502, "", "unknown"],
  ] as const;
  for (const [status, body, expected] of table) {
    it(`${status} ${body}: ${expected}`, () => {
      const outcome = readHttpResponse({ status, body }, RULES, 0);
      const shown =
        outcome.kind === "refused" ? `refused ${outcome.disposition}` : (outcome.kind as string);
      expect(shown).to.equal(expected);
    });
  }

  it("a refusal that the connector's table names is permanent and has its code", () => {
    const rules = {
      ...RULES,
      errorPointer: "/error/code",
      submitErrorCodes: { "451": "dnd_blocked", DND: "dnd_blocked", "429": "dnd_blocked" },
    };
    const blocked = { kind: "refused", disposition: "permanent", errorCode: "dnd_blocked" };
    const read = (status: number, body = "") => readHttpResponse({ status, body }, rules, 0);
    expect(read(451)).to.deep.equal({ ...blocked, code: "http_451" });
    expect(read(429)).to.deep.equal({ ...blocked, code: "http_429" });
    for (const status of [200, 400, 500]) {
      expect(read(status, '{"id":"c1","error":{"code":"DND"}}')).to.deep.equal({
        ...blocked,
        code: "http_DND",
      });
    }
    expect(read(200, '{"id":"c1","error":{"code":"OK"}}').kind).to.equal("accepted");
    expect(read(200, '{"id":"c1","error":{"code":"constructor"}}').kind).to.equal("accepted");
    expect(read(404)).to.not.have.property("errorCode");
  });

  it("a connector's own throttling statuses replace the usual ones", () => {
    const scopes = httpThrottleScopes({ "429": "number", "420": "bind" });
    const read = (status: number, retryAfter?: string) =>
      readHttpResponse({ status, body: "", retryAfter }, { ...RULES, scopes }, 0);
    expect(read(429)).to.include({ disposition: "throttled", scope: "number", retryAfterMs: 0 });
    expect(read(420, "2")).to.include({ scope: "bind", retryAfterMs: 2000 });
    expect(read(503)).to.include({ scope: "bind" });
  });

  for (const [header, waitMs] of [
    [undefined, 0],
    ["7", 7000],
    ["86400", 60_000],
    ["Thu, 01 Jan 1970 00:00:05 GMT", 5000],
    ["soon", 0],
    ["-3", 0],
  ] as const) {
    it(`Retry-After ${header}: the message waits at least ${waitMs} ms`, () => {
      expect(readRetryAfter(header, 0)).to.equal(waitMs);
    });
  }

  it("only a failure before any octet left is certain", () => {
    const failed = (mayHaveLeft: boolean) => readHttpFailure({ code: "timeout", mayHaveLeft });
    expect(failed(false)).to.deep.equal({ kind: "not_sent", code: "timeout" });
    expect(failed(true)).to.deep.equal({ kind: "unknown", code: "timeout" });
  });
});

describe("a receipt URL", () => {
  const place = { connectorId: "http-1", messageId: "msg_01J00000000000000000000000" };
  const path = new URL(makeReceiptUrl("http://127.0.0.1:1", place, "secret-of-the-carrier"))
    .pathname;

  it("a receipt URL is valid only for the secret that signed it", () => {
    const read = readReceiptPath(path);
    expect(read).to.include(place);
    expect(read?.isSigned("secret-of-the-carrier")).to.equal(true);
    expect(read?.isSigned("another")).to.equal(false);
    expect(read?.isSigned("")).to.equal(false);
  });

  it("a receipt URL for one message is not valid for another", () => {
    const moved = path.replace("J0", "J1");
    expect(readReceiptPath(moved)?.isSigned("secret-of-the-carrier")).to.equal(false);
    expect(readReceiptPath("/receipts/http-1/msg_1/00")).to.equal(undefined);
  });
});
