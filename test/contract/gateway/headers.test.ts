/** The headers of every response (`docs/contract.md#requests`, `docs/contract.md#versioning`). */
import { expect } from "chai";
import type { Operation } from "../../../gateway/operations/operation.ts";
import { createAnswerCheck } from "../../support/openapi-check.ts";
import {
  API_KEY,
  DOCS_URL,
  exchange,
  openRestApp,
  type RestApp,
  type RestAppOptions,
} from "../../support/rest-app.ts";

const SEND = "/v1/sms/messages";
const OLD = "/v1/messages";
const GOOD = { to: "08031234567", from: "Acme", body: "Hello" };

describe("REST: headers", () => {
  let app: RestApp | undefined;
  afterEach(async () => {
    await app?.close();
    app = undefined;
  });
  async function call(
    method: string,
    path: string,
    options: RestAppOptions & { headers?: Record<string, string>; body?: unknown } = {},
  ): Promise<Response> {
    app ??= await openRestApp(options);
    const { body } = options;
    return fetch(`${app.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${API_KEY}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...options.headers,
      },
      ...(body === undefined
        ? {}
        : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
  }

  const limited = { isAllowed: false, remaining: 0, resetS: 3, retryAfterMs: 1200 };
  const ALL: readonly [string, number, () => Promise<Response>][] = [
    ["an accepted send", 202, () => call("POST", SEND, { body: GOOD })],
    [
      "an unknown key",
      401,
      () => call("POST", SEND, { body: GOOD, headers: { authorization: "x" } }),
    ],
    [
      "a missing scope",
      403,
      () => call("POST", SEND, { body: GOOD, caller: { scopes: new Set() } }),
    ],
    ["an unknown message", 404, () => call("GET", `${OLD}/x`)],
    ["a wrong method", 405, () => call("PUT", SEND)],
    ["too large a body", 413, () => call("POST", SEND, { body: "x".repeat(4_194_305) })],
    [
      "a wrong type",
      415,
      () => call("POST", SEND, { body: "x", headers: { "content-type": "a/b" } }),
    ],
    ["a wrong field", 422, () => call("POST", SEND, { body: {} })],
    ["an exceeded rate limit", 429, () => call("POST", SEND, { body: GOOD, decision: limited })],
    ["a bug", 500, () => call("GET", "/v1/fault", { extraOperations: [FAULTY] })],
    ["overload", 503, () => call("POST", SEND, { body: GOOD, requestsMax: 0 })],
    ["OPTIONS", 204, () => call("OPTIONS", SEND)],
    ["a page", 200, () => call("GET", "/docs")],
    ["the OpenAPI document", 200, () => call("GET", "/openapi.json")],
  ];

  for (const [what, status, provoke] of ALL) {
    it(`X-Request-Id and Cache-Control are on the response to ${what} (${status})`, async () => {
      const answer = await provoke();
      expect(answer.status).to.equal(status);
      expect(answer.headers.get("x-request-id")).to.match(/^req_[0-9A-HJKMNP-TV-Z]{26}$/);
      const isPage = what.includes("page") || what.includes("document");
      const caching = isPage ? "public, max-age=300" : "no-store";
      expect(answer.headers.get("cache-control")).to.equal(caching);
    });
  }

  it("the RateLimit headers are on every response after the rate limit, and on none before", async () => {
    for (const [what, status, provoke] of ALL) {
      await app?.close();
      app = undefined;
      const { headers } = await provoke();
      const names = ["limit", "remaining", "reset"].map((name) => headers.get(`ratelimit-${name}`));
      const isAfter = [202, 403, 404, 405, 422, 429, 500].includes(status);
      const wanted = status === 429 ? ["50", "0", "3"] : ["50", "99", "1"];
      expect(names, what).to.deep.equal(isAfter ? wanted : [null, null, null]);
    }
  });

  it("403 ip_not_allowed comes before the rate limit, and the document allows 403 without its headers", async () => {
    const answer = await call("GET", "/v1/balance", { caller: { allowsAddress: () => false } });
    const text = await answer.text();
    expect(JSON.parse(text)).to.include({ code: "ip_not_allowed", status: 403 });
    expect(answer.headers.get("ratelimit-limit")).to.equal(null);
    const document = await (await call("GET", "/openapi.json")).json();
    const check = createAnswerCheck(document as Parameters<typeof createAnswerCheck>[0]);
    const { status, headers } = answer;
    check("GET", "/v1/balance", { status, headers, text, body: JSON.parse(text) });
  });

  it("Retry-After is in whole seconds, rounded up, on 429 and 503 only", async () => {
    for (const [what, status, provoke] of ALL) {
      await app?.close();
      app = undefined;
      const wanted = status === 429 ? "2" : status === 503 ? "1" : null;
      expect((await provoke()).headers.get("retry-after"), what).to.equal(wanted);
    }
  });

  it("401 carries WWW-Authenticate: Bearer", async () => {
    const answer = await call("GET", "/v1/balance", { headers: { authorization: "Basic eDp5" } });
    expect(answer.headers.get("www-authenticate")).to.equal("Bearer");
  });

  it("the response to a bug reveals nothing about it", async () => {
    const answer = await call("GET", "/v1/fault", { extraOperations: [FAULTY] });
    const text = await answer.text();
    expect(JSON.parse(text)).to.include({ code: "internal_error", status: 500 });
    expect(text).to.not.contain("secret");
  });

  it("Location names the accepted message; it is the same path on both send paths", async () => {
    for (const path of [SEND, OLD]) {
      const answer = await call("POST", path, { body: GOOD });
      const { data } = (await answer.json()) as { data: { id: string } };
      expect(answer.headers.get("location")).to.equal(`/v1/messages/${data.id}`);
    }
  });

  for (const [what, status, options] of [
    ["202", 202, { body: GOOD }],
    ["401", 401, { body: GOOD, headers: { authorization: "x" } }],
    ["403", 403, { body: GOOD, caller: { scopes: new Set<string>() } }],
    ["422", 422, { body: {} }],
    ["429", 429, { body: GOOD, decision: limited }],
    ["503", 503, { body: GOOD, requestsMax: 0 }],
  ] as const) {
    it(`the deprecated path has the deprecation headers on ${what}`, async () => {
      const answer = await call("POST", OLD, options);
      expect(answer.status).to.equal(status);
      expect(deprecation(answer)).to.deep.equal([
        "true",
        "Thu, 15 Apr 2027 23:59:59 GMT",
        `<${DOCS_URL}/api/migrations/send-endpoint>; rel="deprecation"`,
      ]);
    });
  }

  for (const [status, options] of [
    [413, { body: "x".repeat(4_194_305) }],
    [415, { body: "x", headers: { "content-type": "text/plain" } }],
  ] as const) {
    it(`the deprecated path has no deprecation headers on ${status}, which precedes the operation`, async () => {
      const answer = await call("POST", OLD, options);
      expect(answer.status).to.equal(status);
      expect(deprecation(answer)).to.deep.equal([null, null, null]);
    });
  }

  it("the new path, the list and the cancel are not deprecated", async () => {
    for (const [method, path] of [
      ["POST", SEND],
      ["GET", `${OLD}?limit=0`],
      ["POST", `${OLD}/x/cancel`],
    ] as const) {
      expect(deprecation(await call(method, path))).to.deep.equal([null, null, null]);
    }
  });

  it("after the removal a send to the old path gets 404, and the list there still works", async () => {
    const gone = { keepsDeprecatedPath: false };
    const answer = await call("POST", OLD, { ...gone, body: GOOD });
    expect(answer.status).to.equal(404);
    expect(((await answer.json()) as { code: string }).code).to.equal("not_found");
    expect(deprecation(answer)).to.deep.equal([null, null, null]);
    expect((await call("GET", `${OLD}?limit=0`)).status).to.equal(422);
    expect((await call("PUT", OLD)).headers.get("allow")).to.equal("GET, HEAD, OPTIONS");
  });

  it("405 names the methods of the path in Allow", async () => {
    const answer = await call("DELETE", OLD);
    expect(answer.status).to.equal(405);
    expect(answer.headers.get("allow")).to.equal("POST, GET, HEAD, OPTIONS");
    expect(((await answer.json()) as { code: string }).code).to.equal("method_not_allowed");
  });

  it("OPTIONS needs no key and names the methods", async () => {
    const answer = await call("OPTIONS", SEND, { headers: { authorization: "" } });
    expect(answer.status).to.equal(204);
    expect(answer.headers.get("allow")).to.equal("POST, OPTIONS");
  });

  it("HEAD responds like GET, without the body", async () => {
    for (const path of ["/openapi.json", `${OLD}?limit=0`, `${OLD}/x`]) {
      const get = await call("GET", path);
      const head = await call("HEAD", path);
      expect(head.status).to.equal(get.status);
      expect(head.headers.get("content-type")).to.equal(get.headers.get("content-type"));
      expect(head.headers.get("content-length")).to.equal(get.headers.get("content-length"));
      expect(await head.text()).to.equal("");
    }
  });

  it("CORS is off unless configured", async () => {
    const origin = { origin: "https://app.example.com" };
    for (const method of ["GET", "OPTIONS"]) {
      const { headers } = await call(method, OLD, { headers: origin });
      expect(headers.get("access-control-allow-origin")).to.equal(null);
    }
  });

  it("CORS allows the configured origins and no other", async () => {
    const corsOrigins = ["https://app.example.com"];
    const mine = await call("OPTIONS", OLD, {
      corsOrigins,
      headers: { origin: "https://app.example.com" },
    });
    expect(mine.headers.get("access-control-allow-origin")).to.equal("https://app.example.com");
    expect(mine.headers.get("access-control-allow-methods")).to.contain("POST");
    expect(mine.headers.get("access-control-allow-headers")).to.contain("Idempotency-Key");
    expect(mine.headers.get("vary")).to.equal("Origin");
    const other = await call("GET", OLD, { headers: { origin: "https://evil.example" } });
    expect(other.headers.get("access-control-allow-origin")).to.equal(null);
    expect(other.headers.get("vary")).to.equal("Origin");
  });

  it("the body of a GET has the same limits of size and type", async () => {
    app = await openRestApp();
    const get = (headers: string, body: string) =>
      exchange(
        app?.port ?? 0,
        (send) =>
          send(
            `GET ${OLD}?limit=0 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${API_KEY}\r\n` +
              `Content-Length: ${body.length}\r\n${headers}\r\n\r\n${body}`,
          ),
        { count: 1 },
      ).then(({ answers }) => answers[0]?.status);
    expect(await get("Content-Type: text/plain", "x")).to.equal(415);
    expect(await get("Content-Type: application/json", "{}")).to.equal(422);
    expect(await get("X-Nothing: 1", "")).to.equal(422);
  });

  it("Expect: 100-continue gets 100 or the refusal before the body is sent", async () => {
    app = await openRestApp();
    const body = JSON.stringify(GOOD);
    const head = (length: number) =>
      `POST ${SEND} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${API_KEY}\r\nExpect: 100-continue\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;
    const refused = await exchange(app.port, (send) => send(head(5_000_000)));
    expect(refused.answers.map(({ status }) => status)).to.deep.equal([413]);
    const accepted = await exchange(
      app.port,
      (send) => {
        send(head(body.length));
        send(body);
      },
      { count: 1 },
    );
    expect(accepted.answers[0]?.status).to.equal(202);
  });

  it("a cancel accepts no body, an empty chunked body, or an empty object", async () => {
    app = await openRestApp();
    const path = `/v1/messages/msg_${"0".repeat(26)}/cancel`;
    const base = `POST ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${API_KEY}\r\n`;
    for (const rest of [
      "\r\n",
      "Content-Length: 0\r\n\r\n",
      "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
    ]) {
      const { answers } = await exchange(app.port, (send) => send(base + rest), { count: 1 });
      expect(answers[0]?.status, rest).to.equal(404);
    }
  });
});

/** An operation with a bug. */
const FAULTY: Operation = {
  method: "GET",
  path: "/v1/fault",
  scope: "balance:read",
  doc: {
    id: "fault",
    tag: "Balance",
    summary: "",
    description: "",
    response: { status: 200, description: "" },
    errors: [],
  },
  handle: async () => {
    throw new TypeError("secret of the inside");
  },
};

function deprecation({ headers }: Response): (string | null)[] {
  return ["deprecation", "sunset", "link"].map((name) => headers.get(name));
}
