/** `docs/contract.md#idempotency`, with two gateways and with a flushed, slow and stopped Redis. */
import { expect } from "chai";
import { Redis } from "ioredis";
import { eventually } from "../../support/poll.ts";
import {
  type Customer,
  callRest,
  openRestStack,
  type RestAnswer,
  type RestStack,
} from "../../support/rest.ts";
import { type SecondGateway, startSecondGateway } from "../../support/second-gateway.ts";
import type { TestStack } from "../../support/stack.ts";

const SEND = "/v1/sms/messages";
const OLD = "/v1/messages";
const GOOD = { to: "08031234567", from: "Acme", body: "Hello" };

describe("REST: idempotency", function () {
  this.timeout(60_000);
  let rest: RestStack<TestStack>;
  let customer: Customer;
  let second: SecondGateway;
  let keys = 0;

  before(async function () {
    this.timeout(180_000);
    rest = await openRestStack();
    second = await startSecondGateway(rest.stack);
    customer = await rest.addCustomer();
  });
  after(async function () {
    this.timeout(60_000);
    await second?.stop();
    await rest?.close();
  });

  const newKey = () => {
    keys += 1;
    return `key-${keys}`;
  };
  const send = (key: string, body: unknown = GOOD, path = SEND) =>
    customer.call("POST", path, { key, body });
  const elsewhere = (key: string, body: unknown = GOOD, path = SEND) =>
    callRest(second.url, "POST", path, { key, body, apiKey: customer.apiKey });
  const countOf = async (reference: string) =>
    (await customer.call("GET", `/v1/messages?client_reference=${reference}`)).body.data.length;

  function expectReplay(first: RestAnswer, again: RestAnswer): void {
    expect(again.status, again.text).to.equal(202);
    expect(again.text, "identical, byte for byte").to.equal(first.text);
    expect(again.headers.get("location")).to.equal(first.headers.get("location"));
    expect(first.headers.get("idempotent-replayed")).to.equal(null);
    expect(again.headers.get("idempotent-replayed")).to.equal("true");
    expect(again.headers.get("x-request-id")).to.not.equal(first.headers.get("x-request-id"));
  }

  it("a repeat after success gets the stored first response, on every gateway", async () => {
    const key = newKey();
    const body = { ...GOOD, client_reference: "once" };
    const first = await send(key, body);
    expectReplay(first, await send(key, body));
    expectReplay(first, await elsewhere(key, body));
    const { id } = first.body.data;
    await eventually(async () => {
      const { body: read } = await customer.call("GET", `/v1/messages/${id}`);
      return read.data.status === "delivered";
    });
    expectReplay(first, await elsewhere(key, body));
    expect(await countOf("once"), "nothing is sent again").to.equal(1);
  });

  it("bulk and batch responses are replayed in full", async () => {
    for (const [path, body] of [
      [`${SEND}/bulk`, { to: ["08031234567", "nobody", "\ud800"], from: "Acme", body: "Hello" }],
      [`${SEND}/batch`, { from: "Acme", messages: [{ to: "08031234567", body: "Hello" }] }],
    ] as const) {
      const key = newKey();
      const first = await send(key, body, path);
      expectReplay(first, await elsewhere(key, body, path));
    }
  });

  it("bodies are compared as parsed JSON: member order and white space do not matter", async () => {
    const key = newKey();
    const first = await customer.call("POST", SEND, {
      key,
      raw: '{"to":"08031234567","from":"Acme","body":"Hello"}',
    });
    const again = await customer.call("POST", SEND, {
      key,
      raw: ' {\n"body" : "\\u0048ello", "from":"Acme",\t"to":"08031234567" }',
    });
    expectReplay(first, again);
  });

  it("a different body is 409 idempotency_key_reused, even an invalid one", async () => {
    const key = newKey();
    const first = await send(key);
    for (const other of [{ ...GOOD, body: "Other" }, { ...GOOD, to: 1 }, {}]) {
      const answer = await elsewhere(key, other);
      expect(answer.status).to.equal(409);
      expect(answer.body.code).to.equal("idempotency_key_reused");
    }
    expectReplay(first, await send(key));
  });

  it("a key belongs to one operation: the same key on single and bulk is two keys", async () => {
    const key = newKey();
    const single = await send(key);
    const bulk = await send(key, { ...GOOD, to: ["08031234567"] }, `${SEND}/bulk`);
    expect(bulk.status).to.equal(202);
    expect(bulk.headers.get("idempotent-replayed")).to.equal(null);
    expectReplay(single, await send(key));
  });

  it("both single-send paths share keys: a retry may use the other path", async () => {
    const key = newKey();
    const first = await send(key, GOOD, OLD);
    expectReplay(first, await send(key, GOOD, SEND));
    const other = await send(key, { ...GOOD, body: "Other" });
    expect(other.body.code).to.equal("idempotency_key_reused");
  });

  it("a key belongs to one account", async () => {
    const key = newKey();
    const first = await send(key);
    const other = await rest.addCustomer();
    const theirs = await other.call("POST", SEND, { key, body: GOOD });
    expect(theirs.status).to.equal(202);
    expect(theirs.body.data.id).to.not.equal(first.body.data.id);
  });

  it("a key belongs to one mode, also while both requests run", async () => {
    const key = newKey();
    const post = (apiKey: string) => customer.call("POST", SEND, { key, body: GOOD, apiKey });
    const [live, test] = await Promise.all([post(customer.apiKey), post(customer.testKey)]);
    expect([live.status, test.status]).to.deep.equal([202, 202]);
    expect([live.body.data.mode, test.body.data.mode]).to.deep.equal(["live", "test"]);
    expectReplay(live, await post(customer.apiKey));
    expectReplay(test, await post(customer.testKey));
  });

  it("after any 4xx the key is free again", async () => {
    const key = newKey();
    const poor = await rest.addCustomer({ funds: 0n });
    const post = (body: unknown) => poor.call("POST", SEND, { key, body });
    expect((await post({ ...GOOD, from: "Nobody" })).body.code).to.equal("sender_id_not_approved");
    expect((await post({ ...GOOD, to: "nobody" })).body.code).to.equal("validation_error");
    expect((await post(GOOD)).body.code).to.equal("insufficient_balance");
    const { tenantId } = poor;
    const actor = { name: "test" };
    await rest.wallets.fundWallet({ tenantId, amount: 100_000n, reference: "later", actor });
    expect((await post(GOOD)).status).to.equal(202);
  });

  it("a replay succeeds although the body is no longer valid", async () => {
    const key = newKey();
    const at = Date.now() + 61_000;
    const body = { ...GOOD, send_at: new Date(at).toISOString() };
    const first = await send(key, body);
    expect(first.body.data.status).to.equal("scheduled");
    await eventually(() => Date.now() > at - 60_000);
    expectReplay(first, await send(key, body));
  });

  it("50 identical concurrent requests have one effect, and each gets that 202 or a 409 conflict", async () => {
    const key = newKey();
    const body = { ...GOOD, client_reference: "fifty" };
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, at) =>
        at % 2 === 0 ? send(key, body) : elsewhere(key, body),
      ),
    );
    const accepted = answers.filter(({ status }) => status === 202);
    expect(accepted.length).to.be.at.least(1);
    expect(new Set(accepted.map(({ text }) => text)).size).to.equal(1);
    for (const { status, body: problem } of answers) {
      if (status !== 202) expect([status, problem.code]).to.deep.equal([409, "conflict"]);
    }
    expect(await countOf("fifty")).to.equal(1);
    expect((await send(key, body)).text).to.equal(accepted[0]?.text);
  });

  it("a cancel's key belongs to that message's cancel", async () => {
    const at = () => new Date(Date.now() + 3_600_000).toISOString();
    const key = newKey();
    const [one, two] = await Promise.all([
      send(newKey(), { ...GOOD, send_at: at() }),
      send(newKey(), { ...GOOD, send_at: at() }),
    ]);
    const cancel = (answer: RestAnswer, body?: unknown) =>
      customer.call("POST", `/v1/messages/${answer.body.data.id}/cancel`, { key, body });
    const first = await cancel(one);
    const again = await cancel(one, {});
    expect(again.text).to.equal(first.text);
    expect(again.headers.get("idempotent-replayed")).to.equal("true");
    const other = await cancel(two);
    expect(other.status).to.equal(200);
    expect(other.headers.get("idempotent-replayed")).to.equal(null);
    const id = one.body.data.id;
    const odd = await customer.call("POST", `/v1/messages/${id}/cancel?x=1`, { key });
    expect([odd.status, odd.text]).to.deep.equal([200, first.text]);
    const reused = await cancel(one, { reason: "x" });
    expect(reused.body.code).to.equal("idempotency_key_reused");
  });

  it("a test key does not get a live key's stored cancel", async () => {
    const key = newKey();
    const at = new Date(Date.now() + 3_600_000).toISOString();
    const { id } = (await send(newKey(), { ...GOOD, send_at: at })).body.data;
    const cancel = (apiKey: string, more = {}) =>
      customer.call("POST", `/v1/messages/${id}/cancel`, { key, apiKey, ...more });
    const first = await cancel(customer.apiKey);
    expect(first.status, first.text).to.equal(200);
    for (const body of [undefined, {}, { reason: "x" }]) {
      const answer = await cancel(customer.testKey, { body });
      expect(answer.status, answer.text).to.equal(404);
    }
    expect((await cancel(customer.apiKey)).text).to.equal(first.text);
  });

  it("the header is ignored on GET", async () => {
    const answer = await customer.call("GET", "/v1/balance", { key: "not a key!" });
    expect(answer.status).to.equal(200);
  });

  it("a flushed Redis loses no stored response", async () => {
    const key = newKey();
    const first = await send(key);
    const redis = new Redis(rest.stack.redis_url);
    await redis.flushall();
    redis.disconnect();
    expectReplay(first, await elsewhere(key));
    expect((await send(key, { ...GOOD, body: "Other" })).status).to.equal(409);
  });

  it("without Redis sends are accepted, and a key still has one effect", async () => {
    const key = newKey();
    const body = { ...GOOD, client_reference: "no-redis" };
    const before = newKey();
    const stored = await send(before);
    await rest.stack.kill("redis");
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        at % 2 === 0 ? send(key, body) : elsewhere(key, body),
      ),
    );
    for (const { status, body: problem, text } of answers) {
      if (status !== 202) expect(problem.code, text).to.equal("conflict");
    }
    const again = await send(key, body);
    expect(again.headers.get("idempotent-replayed")).to.equal("true");
    expect(await countOf("no-redis")).to.equal(1);
    expectReplay(stored, await send(before));
    await rest.stack.restart("redis");
    expect((await elsewhere(key, body)).text).to.equal(again.text);
  });
});
