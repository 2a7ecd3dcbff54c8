/** `docs/contract.md#authentication` and `docs/contract.md#rate-limits`, with two gateways. */
import { expect } from "chai";
import { eventually } from "../../support/poll.ts";
import { callRest, openRestStack, type RestCall, type RestStack } from "../../support/rest.ts";
import { type SecondGateway, startSecondGateway } from "../../support/second-gateway.ts";
import type { TestStack } from "../../support/stack.ts";

const SEND = "/v1/sms/messages";
const GOOD = { to: "08031234567", from: "Acme", body: "Hello" };

/** Every operation of the contract with its scope. */
const SCOPES: readonly (readonly [string, string, string])[] = [
  ["POST", SEND, "messages:send"],
  ["POST", `${SEND}/bulk`, "messages:send"],
  ["POST", `${SEND}/batch`, "messages:send"],
  ["POST", `${SEND}/preview`, "messages:send"],
  ["POST", "/v1/messages", "messages:send"],
  ["POST", `/v1/messages/msg_${"0".repeat(26)}/cancel`, "messages:send"],
  ["GET", "/v1/messages", "messages:read"],
  ["GET", `/v1/messages/msg_${"0".repeat(26)}`, "messages:read"],
  ["GET", `/v1/messages/msg_${"0".repeat(26)}/timeline`, "messages:read"],
  ["GET", "/v1/balance", "balance:read"],
  ["GET", "/v1/sender-ids", "sender_ids:read"],
  ["POST", "/v1/sender-ids", "sender_ids:manage"],
  ["GET", "/v1/webhook-endpoints", "webhooks:manage"],
  ["POST", "/v1/webhook-endpoints", "webhooks:manage"],
  ["GET", "/v1/api-keys", "keys:manage"],
  ["GET", "/v1/wallet/entries", "wallet:read"],
  ["GET", "/v1/usage", "usage:read"],
  ["GET", "/v1/account", "balance:read"],
  ["GET", "/v1/audit-entries", "audit:read"],
  ["POST", "/v1/api-keys", "keys:manage"],
];

describe("REST: authentication and rate limits", function () {
  this.timeout(60_000);
  let rest: RestStack<TestStack>;
  let second: SecondGateway;

  before(async function () {
    this.timeout(180_000);
    rest = await openRestStack({ TRUSTED_PROXIES: "127.0.0.0/8" });
    second = await startSecondGateway(rest.stack, { GATEWAY_REPLICAS: "2" });
  });
  after(async function () {
    this.timeout(60_000);
    await second?.stop();
    await rest?.close();
  });
  const elsewhere = (method: string, path: string, options: RestCall) =>
    callRest(second.url, method, path, options);

  it("each operation needs its own scope only", async () => {
    const customer = await rest.addCustomer();
    for (const scope of new Set(SCOPES.map(([, , needed]) => needed))) {
      const apiKey = await customer.addKey({ scopes: [scope] });
      for (const [method, path, needed] of SCOPES) {
        const body = method === "POST" ? {} : undefined;
        const answer = await rest.call(method, path, { apiKey, body });
        const isRefused = answer.body.code === "insufficient_scope";
        expect(isRefused, `${method} ${path} with ${scope}: ${answer.text}`).to.equal(
          scope !== needed,
        );
        if (isRefused) expect(answer.body.detail).to.contain(needed);
      }
    }
  });

  it("a revoked key is refused on every gateway within 5 seconds", async () => {
    const customer = await rest.addCustomer();
    const apiKey = await customer.addKey({});
    for (const call of [rest.call, elsewhere]) {
      expect((await call("GET", "/v1/balance", { apiKey })).status).to.equal(200);
    }
    const { keys } = await rest.tenants.listApiKeys({ tenantId: customer.tenantId });
    const newest =
      keys
        .map(({ id }) => id)
        .sort()
        .at(-1) ?? "";
    await rest.tenants.revokeApiKey({ tenantId: customer.tenantId, keyId: newest });
    await eventually(
      async () => {
        const answers = [
          await rest.call("GET", "/v1/balance", { apiKey }),
          await elsewhere("GET", "/v1/balance", { apiKey }),
        ];
        return answers.every(
          ({ status, body }) => status === 401 && /was revoked/.test(body.detail),
        );
      },
      { timeoutMs: 5000 },
    );
    expect((await customer.call("GET", "/v1/balance")).status, "other keys stay").to.equal(200);
  });

  it("a suspension takes effect within 5 seconds, and its end too", async () => {
    const customer = await rest.addCustomer();
    const { tenantId, apiKey } = customer;
    const send = () => elsewhere("POST", SEND, { apiKey, body: GOOD });
    expect((await send()).status).to.equal(202);
    await rest.tenants.updateTenant({ tenantId, suspended: true });
    await eventually(async () => (await send()).body.code === "tenant_suspended", {
      timeoutMs: 5000,
    });
    for (const path of ["/v1/messages", "/v1/balance", "/v1/sender-ids"]) {
      expect((await customer.call("GET", path)).status, path).to.equal(200);
    }
    const listed = await customer.call("GET", "/v1/sender-ids");
    expect(listed.body.data[0].usable, "not usable while suspended").to.equal(false);
    await rest.tenants.updateTenant({ tenantId, suspended: false });
    await eventually(async () => (await send()).status === 202, { timeoutMs: 5000 });
  });

  for (const [networks, forwarded, status] of [
    [["198.51.100.0/24"], "198.51.100.7", 200],
    [["198.51.100.0/24"], "198.51.101.7", 403],
    [["198.51.100.0/24"], undefined, 403],
    [["2001:db8::/32"], "2001:db8::1", 200],
    [["2001:db8::/32"], "2001:db9::1", 403],
    [["198.51.100.7"], "203.0.113.1, 198.51.100.7", 200],
    [["203.0.113.1"], "203.0.113.1, 198.51.100.7", 403],
    [["127.0.0.1", "::1"], undefined, 200],
  ] as const) {
    it(`${status} for a key of ${networks} with X-Forwarded-For ${forwarded} from a trusted proxy`, async () => {
      const customer = await rest.addCustomer();
      const apiKey = await customer.addKey({ networks: [...networks] });
      const headers = forwarded === undefined ? {} : { "x-forwarded-for": forwarded };
      const answer = await rest.call("GET", "/v1/balance", { apiKey, headers });
      expect(answer.status, answer.text).to.equal(status);
      if (status === 403) expect(answer.body.code).to.equal("ip_not_allowed");
    });
  }

  it("the rate limit is exact under 64 clients of two gateways", async () => {
    const rate = 20;
    const burst = 60;
    const customer = await rest.addCustomer({ rateLimit: rate, burst });
    const { apiKey } = customer;
    let granted = 0;
    let first = Number.POSITIVE_INFINITY;
    let last = 0;
    const endMs = performance.now() + 3000;
    await Promise.all(
      Array.from({ length: 64 }, async (_, at) => {
        const call = at % 2 === 0 ? rest.call : elsewhere;
        while (performance.now() < endMs) {
          const startMs = performance.now();
          const { status, headers } = await call("GET", "/v1/balance", { apiKey });
          if (status === 200) {
            granted += 1;
            first = Math.min(first, startMs);
            last = Math.max(last, performance.now());
          } else {
            expect(status).to.equal(429);
            expect(Number(headers.get("retry-after"))).to.be.at.least(1);
            expect(headers.get("ratelimit-remaining")).to.equal("0");
          }
          expect(headers.get("ratelimit-limit")).to.equal(String(rate));
        }
      }),
    );
    const most = burst + ((last - first) / 1000) * rate;
    expect(granted, "never more than flowed in, by more than one").to.be.at.most(
      Math.ceil(most) + 1,
    );
    expect(granted, "and not less than the bucket held").to.be.at.least(burst);
  });

  it("RateLimit-Remaining falls by one each time, and the bucket is full after RateLimit-Reset", async () => {
    const customer = await rest.addCustomer({ rateLimit: 1, burst: 5 });
    const seen: number[] = [];
    for (let at = 0; at < 5; at += 1) {
      const { status, headers } = await customer.call("GET", "/v1/balance");
      expect(status).to.equal(200);
      seen.push(Number(headers.get("ratelimit-remaining")));
      expect(Number(headers.get("ratelimit-reset"))).to.be.within(1, 5);
    }
    expect(seen[0]).to.equal(4);
    for (let at = 1; at < seen.length; at += 1) {
      expect(seen[at]).to.be.at.most(seen[at - 1] as number);
    }
    const refused = await eventually(async () => {
      const answer = await customer.call("GET", "/v1/balance");
      return answer.status === 429 && answer;
    });
    const waitMs = Number(refused.headers.get("retry-after")) * 1000;
    const startMs = performance.now();
    await eventually(async () => performance.now() - startMs > waitMs);
    expect((await customer.call("GET", "/v1/balance")).status).to.equal(200);
  });

  it("without Redis each gateway limits requests to its share, and none fails", async () => {
    const rate = 10;
    const customer = await rest.addCustomer({ rateLimit: rate, burst: 10 });
    const { apiKey } = customer;
    const ask = () => [
      rest.call("GET", "/v1/balance", { apiKey }),
      elsewhere("GET", "/v1/balance", { apiKey }),
    ];
    await rest.stack.kill("redis");
    try {
      const startMs = performance.now();
      const statuses = new Map<number, number>();
      while (performance.now() - startMs < 2000) {
        // More at once than the limit: a slow machine exceeds it too.
        const answers = await Promise.all(Array.from({ length: 3 * rate }, ask).flat());
        for (const { status } of answers) statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
      expect([...statuses.keys()].sort()).to.deep.equal([200, 429]);
      const spentS = (performance.now() - startMs) / 1000;
      // The first gateway counts one replica and admits all; the second admits its half.
      expect(statuses.get(200)).to.be.at.most(Math.ceil((10 + rate * spentS) * 1.5) + 2);
    } finally {
      await rest.stack.restart("redis");
    }
  });
});
