import assert from "node:assert/strict";
import type { OperationPorts } from "../../../gateway/operations/all.ts";
import { AppError } from "../../../services/shared/core/errors.ts";
import { API_KEY, memoryPorts, openRestApp } from "../../support/rest-app.ts";
import type { Random } from "../random.ts";
import type { FuzzTarget } from "../run-target.ts";
import { talk } from "../talk.ts";

const GOOD = '{"to":"08031234567","from":"Acme","body":"Hello"}';
const AUTHORIZATION = `Authorization: Bearer ${API_KEY}`;
const JSON_TYPE = "Content-Type: application/json";

function request(line: string, headers: readonly string[], body = ""): string {
  return `${[line, "Host: api", AUTHORIZATION, ...headers].join("\r\n")}\r\n\r\n${body}`;
}

const SEND = "POST /v1/sms/messages HTTP/1.1";
const INNER = request("GET /v1/messages/msg_00000000000000000000000000 HTTP/1.1", []);
const CHUNKED = `${GOOD.length.toString(16)}\r\n${GOOD}\r\n0\r\n\r\n`;

const SEEDS = [
  request(SEND, [JSON_TYPE, `Content-Length: ${GOOD.length}`], GOOD),
  request(SEND, [JSON_TYPE, "Transfer-Encoding: chunked"], CHUNKED),
  // Shapes of request smuggling (RFC 9112 section 11.2): two ways to say where a body ends.
  request(
    SEND,
    [JSON_TYPE, "Content-Length: 4", "Transfer-Encoding: chunked"],
    `0\r\n\r\n${INNER}`,
  ),
  request(SEND, [JSON_TYPE, "Content-Length: 0", `Content-Length: ${GOOD.length}`], GOOD),
  request(SEND, [JSON_TYPE, "Transfer-Encoding: chunked, identity"], CHUNKED + INNER),
  request("GET /v1/messages?limit=1&status=sent HTTP/1.1", []) + INNER,
  request("GET /v1/balance HTTP/1.0", ["Connection: keep-alive", "Expect: 100-continue"]),
  request("OPTIONS * HTTP/1.1", ["Origin: https://example.com", "Upgrade: h2c"]),
  request("HEAD /openapi.json HTTP/1.1", ["Range: bytes=0-1", "If-None-Match: *"]),
  request("PATCH /v1/webhook-endpoints/whe_1 HTTP/1.1", [JSON_TYPE, "Content-Length: 2"], "{}"),
];

const METHODS = ["GET", "POST", "PATCH", "DELETE", "HEAD", "OPTIONS", "PUT", "TRACE", "CONNECT"];
const PATHS = [
  ...["/v1/sms/messages", "/v1/sms/messages/bulk", "/v1/sms/messages/batch", "/v1/messages"],
  ...["/v1/messages/%ff", "/v1/balance", "/v1/sender-ids?usable=x", "/v1/webhook-endpoints"],
  ...[
    "/docs",
    "/openapi.json",
    "//",
    "*",
    "http://x/v1/balance",
    "/v1/messages?to=%zz",
    "/%2e%2e/",
  ],
];
const HEADERS = [
  ...[JSON_TYPE, "Content-Type: text/plain", "Content-Type: application/json; charset=utf-16"],
  ...["Content-Length: 5", "Content-Length: -1", "Content-Length: 5, 5", "Content-Length : 5"],
  ...["Transfer-Encoding: chunked", "Transfer-Encoding: gzip", "Transfer-Encoding:\tchunked"],
  ...["Expect: 100-continue", "Connection: close", "Connection: upgrade", "Upgrade: websocket"],
  ...["Idempotency-Key: a", "Idempotency-Key: é", "X-Forwarded-For: 1, 2", "Cookie: a=b"],
  ...["Host: other", "traceparent: 00-zz", " folded: line", "X: a\rb", "X", ": x", "X: \0"],
];

/** Octets on a connection: answered by the rules of HTTP or refused, never by a fault of ours. */
export const httpTarget: FuzzTarget = {
  name: "http",
  async open() {
    const app = await openRestApp({ ports: knowNothing() });
    return {
      seeds: SEEDS.map((text) => Buffer.from(text, "latin1")),
      generate: (random) => Buffer.from(generateRequests(random), "latin1"),
      async check(input) {
        const answer = (await talk(app.port, input)).toString("latin1");
        const statuses = [...answer.matchAll(/(?:^|\n|\})HTTP\/1\.1 (\d{3}) /g)].map(
          (match) => +(match[1] ?? 0),
        );
        for (const status of statuses) assert.ok(status < 500, `answered ${status}`);
        if (isAmbiguous(input)) {
          assert.deepEqual(statuses, [400], "two ends of a body: refused, and nothing after it");
        }
        const next = await talk(app.port, Buffer.from(SEEDS[0] ?? ""));
        assert.match(next.toString("latin1"), /^HTTP\/1\.1 202 /, "the next client is served");
      },
      close: () => app.close(),
    };
  },
};

/** Services of which nothing is known: every id is free and every list is empty. */
function knowNothing(): Partial<OperationPorts> {
  const { messaging } = memoryPorts();
  const unknown = new Proxy(
    {},
    {
      get: () => async () => {
        throw new AppError("not_found", "There is no such thing.");
      },
    },
  ) as never;
  return {
    wallets: unknown,
    senderIds: unknown,
    webhooks: unknown,
    messaging: Object.assign(Object.create(messaging as object), {
      listMessages: async () => ({ messages: [], hasMore: false }),
    }),
  };
}

function generateRequests(random: Random): string {
  const one = () => {
    const line = `${random.pick(METHODS)} ${random.pick(PATHS)} HTTP/${random.oneIn(8) ? "1.0" : "1.1"}`;
    const headers = Array.from({ length: random.below(5) }, () => random.pick(HEADERS));
    const body = random.pick(["", "", GOOD, CHUNKED, "5\r\nhello\r\n0\r\n\r\n", "ffffffffff\r\n"]);
    return request(line, headers, body);
  };
  return Array.from({ length: 1 + random.below(3) }, one).join("");
}

/** Whether the first request says twice, or in two ways, how long its body is. */
function isAmbiguous(input: Buffer): boolean {
  const text = input.toString("latin1");
  const end = text.indexOf("\r\n\r\n");
  const lines = text.slice(0, Math.max(0, end)).split("\r\n").slice(1);
  const has = (name: RegExp) => lines.filter((line) => name.test(line)).length;
  const lengths = has(/^content-length:/i);
  return lengths > 1 || (lengths === 1 && has(/^transfer-encoding:/i) > 0);
}
