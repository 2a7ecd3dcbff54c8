/**
 * The order of checks (`docs/contract.md#requests`). Each request fails every check from one on, so its response shows
 * which check came first.
 */
import { once } from "node:events";
import { type IncomingMessage, request as openRequest } from "node:http";
import { expect } from "chai";
import type { KeyLocks } from "../../../gateway/idempotency/lock.ts";
import { AppError, type ErrorCode } from "../../../services/shared/core/errors.ts";
import {
  API_KEY,
  memoryPorts,
  openRestApp,
  type RestApp,
  type RestAppOptions,
} from "../../support/rest-app.ts";

const REFUSED = { isAllowed: false, remaining: 0, resetS: 2, retryAfterMs: 1500 };
const OTHER_BODY: KeyLocks = {
  acquire: async () => ({ state: "busy_other", release: async () => undefined }),
};

/** Ports with a messaging client that refuses every send with a code. */
function refusing(code: ErrorCode) {
  const { messaging } = memoryPorts();
  const sendMessages = async () => {
    throw new AppError(code, "Refused.");
  };
  return { messaging: { ...messaging, sendMessages } as unknown as typeof messaging };
}

type Stage = { readonly name: string; readonly status: number; readonly code: ErrorCode };

/** Every check in order, with its response. */
const STAGES: readonly Stage[] = [
  { name: "too large", status: 413, code: "payload_too_large" },
  { name: "media type", status: 415, code: "unsupported_media_type" },
  { name: "key", status: 401, code: "unauthenticated" },
  { name: "address", status: 403, code: "ip_not_allowed" },
  { name: "rate", status: 429, code: "rate_limited" },
  { name: "scope", status: 403, code: "insufficient_scope" },
  { name: "idempotency", status: 409, code: "idempotency_key_reused" },
  { name: "fields", status: 422, code: "validation_error" },
  { name: "account", status: 403, code: "tenant_suspended" },
];

describe("REST: the order of checks", () => {
  let app: RestApp | undefined;
  afterEach(async () => {
    await app?.close();
    app = undefined;
  });

  /** A pipeline and a request that fail every check from number `from` on. */
  async function answerOf(from: number): Promise<Response> {
    const isWrong = (name: string) => STAGES.findIndex((stage) => stage.name === name) >= from;
    const options: RestAppOptions = {
      caller: {
        ...(isWrong("address") ? { allowsAddress: () => false } : {}),
        ...(isWrong("scope") ? { scopes: new Set(["balance:read"]) } : {}),
      },
      ...(isWrong("rate") ? { decision: REFUSED } : {}),
      ports: {
        ...(isWrong("account") ? refusing("tenant_suspended") : {}),
        ...(isWrong("idempotency") ? { keyLocks: OTHER_BODY } : {}),
      },
    };
    app = await openRestApp(options);
    const fields = isWrong("fields") ? { to: 1 } : { to: "08031234567", from: "Acme", body: "Hi" };
    const text = JSON.stringify(fields);
    return fetch(`${app.url}/v1/sms/messages`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${isWrong("key") ? "nobody" : API_KEY}`,
        "content-type": isWrong("media type") ? "text/plain" : "application/json",
        "idempotency-key": "one",
      },
      body: isWrong("too large") ? text.padEnd(4_194_305) : text,
    });
  }

  STAGES.forEach(({ name, status, code }, at) => {
    it(`${status} ${code} comes before everything after it (${name})`, async () => {
      const answer = await answerOf(at);
      expect(answer.status).to.equal(status);
      expect(((await answer.json()) as { code: string }).code).to.equal(code);
    });
  });

  it("a request without faults gets 202", async () => {
    expect((await answerOf(STAGES.length)).status).to.equal(202);
  });

  it("404 comes after the scope and before the fields", async () => {
    app = await openRestApp();
    const url = `${app.url}/v1/messages/msg_${"0".repeat(26)}/cancel`;
    const request = {
      method: "POST",
      headers: {
        authorization: `Bearer ${API_KEY}`,
        "content-type": "application/json",
        "idempotency-key": "not a key",
      },
      body: '{"nothing":1}',
    };
    expect((await fetch(url, request)).status).to.equal(404);
    await app.close();
    app = await openRestApp({ caller: { scopes: new Set(["messages:read"]) } });
    const port = new URL(app.url).port;
    expect((await fetch(url.replace(/:\d+/, `:${port}`), request)).status).to.equal(403);
  });

  it("404 comes before idempotency: a message that does not exist has no key", async () => {
    app = await openRestApp({ ports: { keyLocks: OTHER_BODY } });
    const answer = await fetch(`${app.url}/v1/messages/msg_${"0".repeat(26)}/cancel`, {
      method: "POST",
      headers: { authorization: `Bearer ${API_KEY}`, "idempotency-key": "one" },
    });
    expect(answer.status).to.equal(404);
  });

  for (const [path, status] of [
    ["/v1/nothing", 401],
    ["/v1/messages/a/b", 401],
    ["/nothing", 404],
    ["/v2/messages", 404],
    ["/v1", 404],
  ] as const) {
    it(`without a key, the unknown path ${path} answers ${status}`, async () => {
      app = await openRestApp();
      expect((await fetch(`${app.url}${path}`)).status).to.equal(status);
    });
  }

  it("with a key, an unknown path below /v1 answers 404, and takes a rate limit token like any request", async () => {
    app = await openRestApp();
    const headers = { authorization: `Bearer ${API_KEY}` };
    const answer = await fetch(`${app.url}/v1/nothing`, { headers });
    expect(answer.status).to.equal(404);
    expect(answer.headers.get("ratelimit-remaining")).to.equal("99");
  });

  for (const [headers, status] of [
    [{ "content-type": "text/plain" }, 415],
    [{ "content-type": "application/json; charset=latin1" }, 415],
    [{ "content-type": "application/json", "content-encoding": "gzip" }, 415],
    [{ "content-type": "application/problem+json" }, 415],
    [{ "content-type": "application/json; charset=UTF-8" }, 202],
    [{ "content-type": 'APPLICATION/JSON;charset="utf-8"' }, 202],
    [{ "content-type": "application/json; profile=x" }, 202],
    [{ "content-type": 'application/json;; charset=utf-8 ; q="a;b"' }, 202],
    [{ "content-type": "application/json; charset=utf8" }, 415],
    [{ "content-type": "application/json;" }, 202],
    [{ "content-type": "application/json; profile=x; charset=latin1" }, 415],
    [{ "content-type": "application/json; charset=" }, 415],
    [{ "content-type": "application/json; charset" }, 415],
    [{ "content-type": "application/json, text/plain" }, 415],
    [{ "content-type": "application/jsonp" }, 415],
  ] as const) {
    it(`${status} for a body with ${JSON.stringify(headers)}`, async () => {
      app = await openRestApp();
      const answer = await fetch(`${app.url}/v1/sms/messages`, {
        method: "POST",
        headers: { authorization: `Bearer ${API_KEY}`, ...headers },
        body: '{"to":"08031234567","from":"Acme","body":"Hi"}',
      });
      expect(answer.status).to.equal(status);
    });
  }

  for (const [field, values, status] of [
    ["Authorization", [`Bearer ${API_KEY}`, "Bearer other"], 401],
    ["authorization", [`Bearer ${API_KEY}`, `Bearer ${API_KEY}`], 401],
    ["Host", ["a.example", "b.example"], 400],
    ["Content-Type", ["application/json", "text/plain"], 415],
  ] as const) {
    it(`${status} for ${field} sent twice, which is ambiguous`, async () => {
      app = await openRestApp();
      const fields = new Map<string, readonly string[]>([
        ["host", ["a.example"]],
        ["authorization", [`Bearer ${API_KEY}`]],
        ["content-type", ["application/json"]],
      ]);
      fields.delete(field.toLowerCase());
      const headers = [...fields].flatMap(([name, [value = ""]]) => [name, value]);
      const sent = openRequest(`${app.url}/v1/sms/messages`, {
        method: "POST",
        headers: [...headers, ...values.flatMap((value) => [field, value]), "content-length", "2"],
      });
      sent.end("{}");
      const [answer] = (await once(sent, "response")) as [IncomingMessage];
      answer.resume();
      expect(answer.statusCode).to.equal(status);
    });
  }
});
