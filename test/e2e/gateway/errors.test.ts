/** The error table of `docs/contract.md#errors`: one test for each row, caused from outside. */
import { expect } from "chai";
import { Mode } from "../../../proto/gen/sms/v1/common_pb.js";
import { eventually } from "../../support/poll.ts";
import {
  type Customer,
  type RestAnswer,
  type RestStack,
  sharedRestStack,
} from "../../support/rest.ts";

const SEND = "/v1/sms/messages";

type Row = {
  readonly status: number;
  readonly code: string;
  readonly when: string;
  provoke(): Promise<RestAnswer>;
  check?(answer: RestAnswer): void;
};

describe("REST: errors of the contract", () => {
  let rest: RestStack;
  let customer: Customer;
  let poor: Customer;
  const body = () => ({ to: "08031234567", from: "Acme", body: "Hello" });

  before(async function () {
    this.timeout(120_000);
    rest = await sharedRestStack();
    [customer, poor] = await Promise.all([
      rest.addCustomer(),
      rest.addCustomer({ funds: 30_000n }),
    ]);
  });

  const rows: readonly Row[] = [
    {
      status: 401,
      code: "unauthenticated",
      when: "the API key is missing",
      provoke: () => rest.call("GET", "/v1/balance"),
      check: ({ headers }) => {
        expect(headers.get("www-authenticate")).to.equal("Bearer");
        expect(headers.get("ratelimit-limit"), "no bucket was asked").to.equal(null);
      },
    },
    {
      status: 401,
      code: "unauthenticated",
      when: "the API key is invalid",
      provoke: () => rest.call("GET", "/v1/balance", { apiKey: `sk_live_${"A".repeat(43)}` }),
    },
    {
      status: 402,
      code: "insufficient_balance",
      when: "the available balance does not cover the hold for all passing recipients",
      provoke: () => poor.call("POST", SEND, { body: body() }),
      check: ({ body: problem }) => {
        expect(problem.required_amount).to.equal("4.0000");
        expect(problem.available_amount).to.equal("3.0000");
        expect(problem.currency).to.equal("NGN");
      },
    },
    {
      status: 402,
      code: "insufficient_balance",
      when: "the account has no wallet yet: it has no money, and its balance says so",
      async provoke() {
        const fresh = await rest.addCustomer({ hasNoWallet: true });
        const balance = await fresh.call("GET", "/v1/balance");
        expect(balance.body.data).to.include({ currency: "NGN", available: "0.0000" });
        return fresh.call("POST", SEND, { body: body() });
      },
      check: ({ body: problem }) => {
        expect(problem.available_amount).to.equal("0.0000");
        expect(problem.currency).to.equal("NGN");
      },
    },
    {
      status: 403,
      code: "ip_not_allowed",
      when: "the caller's IP is not permitted",
      async provoke() {
        const apiKey = await customer.addKey({ networks: ["203.0.113.0/24"] });
        return rest.call("GET", "/v1/balance", { apiKey });
      },
    },
    {
      status: 403,
      code: "insufficient_scope",
      when: "the key lacks the required scope",
      async provoke() {
        const apiKey = await customer.addKey({ scopes: ["balance:read"] });
        return rest.call("POST", SEND, { apiKey, body: body() });
      },
      check: ({ body: { detail } }) => expect(detail).to.contain("messages:send"),
    },
    {
      status: 403,
      code: "email_not_verified",
      when: "the account email is not verified (sends)",
      async provoke() {
        const unverified = await rest.addCustomer({ emailVerified: false });
        const read = await unverified.call("GET", "/v1/messages");
        expect(read.status, "reading stays allowed").to.equal(200);
        return unverified.call("POST", SEND, { body: body() });
      },
    },
    {
      status: 403,
      code: "tenant_suspended",
      when: "the account is suspended (sends)",
      async provoke() {
        const bad = await rest.addCustomer();
        await rest.tenants.updateTenant({ tenantId: bad.tenantId, suspended: true });
        const read = await bad.call("GET", "/v1/messages");
        expect(read.status, "reading stays allowed").to.equal(200);
        return eventually(async () => {
          const answer = await bad.call("POST", SEND, { body: body() });
          return answer.status === 403 && answer;
        });
      },
    },
    {
      status: 404,
      code: "not_found",
      when: "the message id is unknown",
      provoke: () => customer.call("GET", `/v1/messages/msg_${"0".repeat(26)}`),
    },
    {
      status: 404,
      code: "not_found",
      when: "the message id is malformed",
      provoke: () => customer.call("GET", "/v1/messages/msg_1%2e%00"),
    },
    {
      status: 404,
      code: "not_found",
      when: "the message is another organisation's",
      async provoke() {
        const sent = await customer.call("POST", SEND, { body: body() });
        return poor.call("GET", `/v1/messages/${sent.body.data.id}`);
      },
    },
    {
      status: 409,
      code: "idempotency_key_reused",
      when: "the key was used with a different body",
      async provoke() {
        const key = "errors-reused";
        const first = await customer.call("POST", SEND, { key, body: body() });
        expect(first.status).to.equal(202);
        return customer.call("POST", SEND, { key, body: { ...body(), body: "Other" } });
      },
    },
    {
      status: 409,
      code: "invalid_state_transition",
      when: "the cancelled message is being sent, sent or in a final status",
      async provoke() {
        const sent = await customer.call("POST", SEND, { body: body() });
        const { id } = sent.body.data;
        await eventually(async () => {
          const { body: read } = await customer.call("GET", `/v1/messages/${id}`);
          return read.data.status === "delivered";
        });
        return customer.call("POST", `/v1/messages/${id}/cancel`);
      },
    },
    {
      status: 413,
      code: "payload_too_large",
      when: "the request body is too large",
      provoke: () =>
        rest.call("POST", SEND, { body: { ...body(), body: "x".repeat(4 * 1024 * 1024) } }),
    },
    {
      status: 415,
      code: "unsupported_media_type",
      when: "the content type is not supported",
      provoke: () =>
        rest.call("POST", SEND, { raw: "to=1", headers: { "content-type": "text/plain" } }),
    },
    {
      status: 422,
      code: "validation_error",
      when: "a field is invalid; errors lists the fields, all of them",
      provoke: () =>
        customer.call("POST", SEND, {
          body: { from: "A", body: "", client_reference: "é", send_at: "soon", nmae: 1 },
        }),
      check: ({ body: { errors } }) => {
        expect(codesByField(errors)).to.deep.equal({
          to: "required",
          from: "too_short",
          body: "too_short",
          client_reference: "invalid_format",
          send_at: "invalid_format",
          nmae: "unknown_field",
        });
      },
    },
    {
      status: 422,
      code: "validation_error",
      when: "a query parameter is invalid",
      provoke: () => customer.call("GET", "/v1/messages?limit=0&limitt=1"),
      check: ({ body: { errors } }) => {
        expect(codesByField(errors)).to.deep.equal({
          limit: "out_of_range",
          limitt: "unknown_field",
        });
      },
    },
    {
      status: 422,
      code: "validation_error",
      when: "no recipient passes: one entry per recipient with a field like to[3]",
      provoke: () =>
        customer.call("POST", `${SEND}/bulk`, {
          body: { to: ["nobody", "+1", "012"], from: "Acme", body: "Hello" },
        }),
      check: ({ body: { errors } }) => {
        expect(codesByField(errors)).to.deep.equal({
          "to[0]": "invalid_recipient",
          "to[1]": "invalid_recipient",
          "to[2]": "invalid_recipient",
        });
      },
    },
    {
      status: 422,
      code: "sender_id_not_approved",
      when: "from is not a sender ID that can be used",
      provoke: () => customer.call("POST", SEND, { body: { ...body(), from: "Nobody" } }),
      check: ({ body: { errors } }) => {
        expect(codesByField(errors)).to.deep.equal({ from: "invalid_value" });
      },
    },
    {
      status: 429,
      code: "rate_limited",
      when: "the rate limit is exceeded; Retry-After is given",
      async provoke() {
        const slow = await rest.addCustomer({ rateLimit: 1, burst: 1 });
        await slow.call("GET", "/v1/balance");
        return slow.call("GET", "/v1/balance");
      },
      check: ({ headers }) => {
        expect(Number(headers.get("retry-after"))).to.be.at.least(1);
        expect(headers.get("ratelimit-limit")).to.equal("1");
        expect(headers.get("ratelimit-remaining")).to.equal("0");
        expect(headers.get("ratelimit-reset")).to.equal("1");
      },
    },
  ];

  for (const { status, code, when, provoke, check } of rows) {
    it(`${status} ${code} when ${when}`, async function () {
      this.timeout(30_000);
      const answer = await provoke();
      expectProblem(rest, answer, status, code);
      check?.(answer);
    });
  }

  it("409 conflict when the same Idempotency-Key request is still in progress", async function () {
    this.timeout(30_000);
    const messaging = rest.stack.pids.messaging as number;
    const key = "errors-conflict";
    process.kill(messaging, "SIGSTOP");
    let first: Promise<RestAnswer> | undefined;
    try {
      first = customer.call("POST", SEND, { key, body: body() });
      const second = await eventually(async () => {
        const answer = await customer.call("POST", SEND, { key, body: body() });
        return answer.status === 409 && answer;
      });
      expectProblem(rest, second, 409, "conflict");
    } finally {
      process.kill(messaging, "SIGCONT");
    }
    const answer = await first;
    expect(answer?.status, "the key stays with the first request").to.equal(202);
  });

  it("503 service_unavailable with Retry-After when a service is unavailable, and no late effect", async function () {
    this.timeout(60_000);
    const { messaging, webhook } = rest.stack.pids as Record<string, number>;
    const send_at = new Date(Date.now() + 3_600_000);
    const [message, other] = await Promise.all(
      ["one", "other"].map(async () => {
        const sent = await customer.call("POST", SEND, { body: { ...body(), send_at } });
        return `/v1/messages/${sent.body.data.id}`;
      }),
    );
    const hook = { url: rest.stack.receiver.url, description: "before" };
    const made = await customer.call("POST", "/v1/webhook-endpoints", { body: hook });
    expect(made.status, made.text).to.equal(201);
    const endpoint = `/v1/webhook-endpoints/${made.body.data.id}`;

    for (const pid of [messaging, webhook]) process.kill(pid as number, "SIGSTOP");
    const late = { ...body(), client_reference: "errors-late" };
    let answers: RestAnswer[];
    try {
      answers = await Promise.all([
        customer.call("POST", SEND, { body: late }),
        customer.call("POST", `${message}/cancel`),
        customer.call("PATCH", endpoint, { body: { description: "after" } }),
      ]);
    } finally {
      for (const pid of [messaging, webhook]) process.kill(pid as number, "SIGCONT");
    }
    for (const answer of answers) {
      expectProblem(rest, answer, 503, "service_unavailable");
      expect(Number(answer.headers.get("retry-after"))).to.be.at.least(1);
    }

    // The services now read the buffered requests; these arrive after them.
    const resumed = [
      await customer.call("POST", SEND, { body: body() }),
      await customer.call("POST", `${other}/cancel`),
      await customer.call("PATCH", endpoint, { body: { sources: ["api"] } }),
    ];
    expect(resumed.map(({ status }) => status)).to.deep.equal([202, 200, 200]);
    const found = await customer.call("GET", "/v1/messages?client_reference=errors-late");
    expect(found.body.data, found.text).to.deep.equal([]);
    expect((await customer.call("GET", `${message}`)).body.data.status).to.equal("scheduled");
    expect((await customer.call("GET", endpoint)).body.data.description).to.equal("before");
  });

  it("a request whose client left before it started is not executed", async function () {
    this.timeout(30_000);
    const gateway = rest.stack.pids.gateway as number;
    const left = { ...body(), client_reference: "errors-left" };
    process.kill(gateway, "SIGSTOP");
    try {
      const answer = await fetch(`${rest.stack.gateway}${SEND}`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${customer.apiKey}`,
          "content-type": "application/json",
        },
        body: JSON.stringify(left),
        signal: AbortSignal.timeout(300),
      }).catch((error: Error) => error.name);
      expect(answer).to.equal("TimeoutError");
    } finally {
      process.kill(gateway, "SIGCONT");
    }
    // On another connection, so after it: the gateway handles buffered requests in order of arrival.
    for (let after = 0; after < 3; after += 1) {
      expect((await customer.call("POST", SEND, { body: body() })).status).to.equal(202);
    }
    const found = await customer.call("GET", "/v1/messages?client_reference=errors-left");
    expect(found.body.data, found.text).to.deep.equal([]);
  });

  it("a test key's problems are the same as a live key's", async () => {
    const testKey = await customer.addKey({ mode: Mode.TEST });
    const answer = await rest.call("POST", SEND, { apiKey: testKey, body: {} });
    expectProblem(rest, answer, 422, "validation_error");
  });
});

function codesByField(errors: readonly { field: string; code: string }[]) {
  return Object.fromEntries(errors.map(({ field, code }) => [field, code]));
}

/** Checks the members of every error response (`docs/contract.md#errors`). */
function expectProblem(rest: RestStack, answer: RestAnswer, status: number, code: string): void {
  expect(answer.body?.code, answer.text).to.equal(code);
  expect(answer.status).to.equal(status);
  expect(answer.headers.get("content-type")).to.equal("application/problem+json");
  expect(answer.headers.get("cache-control")).to.equal("no-store");
  expect(answer.body.type).to.equal(`${rest.stack.docs}/errors/${code}`);
  expect(answer.body.status).to.equal(status);
  expect(answer.body.title).to.be.a("string").that.is.not.empty;
  expect(answer.body.detail).to.be.a("string").that.is.not.empty;
  expect(answer.body.request_id).to.match(/^req_[0-9A-HJKMNP-TV-Z]{26}$/);
  expect(answer.body.request_id).to.equal(answer.headers.get("x-request-id"));
  expect(answer.body.errors).to.be.an("array");
  for (const entry of answer.body.errors) {
    expect(entry).to.have.all.keys("field", "code", "message");
  }
  const hasRetryAfter = answer.headers.get("retry-after") !== null;
  expect(hasRetryAfter, "Retry-After on 429 and 503 only").to.equal([429, 503].includes(status));
}
