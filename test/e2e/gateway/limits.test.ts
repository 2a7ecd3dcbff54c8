/** The limits of the contract: each at its edge and one beyond it. */
import { expect } from "chai";
import { MESSAGING_SETTINGS } from "../../../services/messaging/config.ts";
import { SIGNATURE_TOLERANCE_S } from "../../../services/shared/core/webhook-signature.ts";
import { readWebhookConfig } from "../../../services/webhook/config.ts";
import { eventually } from "../../support/poll.ts";
import {
  type Customer,
  type RestAnswer,
  type RestStack,
  sharedRestStack,
} from "../../support/rest.ts";

const SEND = "/v1/sms/messages";
const BULK = `${SEND}/bulk`;
const DAY_MS = 86_400_000;

describe("REST: limits of the contract", () => {
  let rest: RestStack;
  let customer: Customer;

  before(async function () {
    this.timeout(120_000);
    rest = await sharedRestStack();
    customer = await rest.addCustomer({ funds: 100_000_000_000n });
  });

  const send = (change: Record<string, unknown>, key?: string) =>
    customer.call("POST", SEND, {
      body: { to: "+2348031234567", from: "Acme", body: "Hello", ...change },
      ...(key === undefined ? {} : { key }),
    });
  const list = (query: Record<string, string>) =>
    customer.call("GET", `/v1/messages?${new URLSearchParams(query)}`);
  const ago = (ms: number) => new Date(Date.now() - ms).toISOString();

  it("Recipients per bulk request: 1 to 1,000 by default", async () => {
    const numbers = Array.from({ length: 1001 }, (_, at) => `+234803${String(at + 1_000_000)}`);
    const bulk = (to: string[]) =>
      customer.call("POST", BULK, { body: { to, from: "Acme", body: "Hello" } });
    expectField(await bulk([]), "to", "too_few");
    const full = await bulk(numbers.slice(0, 1000));
    expect(full.status, full.text.slice(0, 300)).to.equal(202);
    expect(full.body.data.accepted).to.equal(1000);
    expectField(await bulk(numbers), "to", "too_many");
  });

  it("Recipients per bulk request: an account's own limit replaces the default", async () => {
    const small = await rest.addCustomer({ bulkMax: 2 });
    const bulk = (to: string[]) =>
      small.call("POST", BULK, { body: { to, from: "Acme", body: "Hello" } });
    expect((await bulk(["08031234567", "08031234568"])).status).to.equal(202);
    expectField(await bulk(["1", "2", "3"]), "to", "too_many");
  });

  it("Items of a batch: 1 to 1,000, independent of an account's limit for bulk sends", async () => {
    const item = (at: number) => ({ to: `+234803${String(at + 2_000_000)}`, body: "Hello" });
    for (const bulkMax of [2, 5000]) {
      const account = await rest.addCustomer({ bulkMax });
      const batch = (count: number) =>
        account.call("POST", "/v1/sms/messages/batch", {
          body: { from: "Acme", messages: Array.from({ length: count }, (_, at) => item(at)) },
        });
      expect((await batch(3)).status).to.equal(202);
      expectField(await batch(0), "messages", "too_few");
      expectField(await batch(1001), "messages", "too_many");
    }
  });

  it("Recipient string length: at most 256 characters, in a single send a fault of the request", async () => {
    const padded = (length: number) => `08031234567${" ".repeat(length - 11)}`;
    expect((await send({ to: padded(256) })).status).to.equal(202);
    expectField(await send({ to: padded(257) }), "to", "too_long");
  });

  it("Recipient string length: in a bulk send each recipient is checked by itself", async () => {
    const to = ["08031234567", `08031234568${" ".repeat(300)}`];
    const answer = await customer.call("POST", BULK, { body: { to, from: "Acme", body: "Hi" } });
    expect(answer.status, answer.text.slice(0, 300)).to.equal(202);
    expect(answer.body.data.messages[0].status).to.equal("queued");
    expect(answer.body.data.messages[1].status).to.equal("rejected");
    expect(answer.body.data.messages[1].error.code).to.equal("invalid_recipient");
    expect(answer.body.data.messages[1].input).to.equal(to[1]);
  });

  it("Segments per body: at most 10", async () => {
    const full = await send({ body: "x".repeat(1530) });
    expect(full.body.data?.segments, full.text).to.equal(10);
    expectField(await send({ body: "x".repeat(1531) }), "body", "body_too_long");
    expectField(await send({ body: "₦".repeat(671) }), "body", "body_too_long");
  });

  for (const [body, encoding, segments] of [
    ["x".repeat(160), "gsm7", 1],
    ["x".repeat(161), "gsm7", 2],
    ["x".repeat(306), "gsm7", 2],
    ["x".repeat(307), "gsm7", 3],
    ["€".repeat(80), "gsm7", 1],
    ["€".repeat(81), "gsm7", 2],
    ["₦".repeat(70), "ucs2", 1],
    ["₦".repeat(71), "ucs2", 2],
    ["₦".repeat(134), "ucs2", 2],
    ["₦".repeat(135), "ucs2", 3],
    ["😀".repeat(35), "ucs2", 1],
    ["😀".repeat(36), "ucs2", 2],
  ] as const) {
    it(`${[...body].length} times ${[...body][0]} is ${segments} of ${encoding}`, async () => {
      const { body: answer, text } = await send({ body });
      expect(answer.data?.encoding, text).to.equal(encoding);
      expect(answer.data.segments).to.equal(segments);
      expect(answer.data.body, "the text exactly as submitted").to.equal(body);
    });
  }

  it("from: 3 to 11 characters of the alphabet", async () => {
    expectField(await send({ from: "ab" }), "from", "too_short");
    expectField(await send({ from: "abcdefghijkl" }), "from", "too_long");
    expectField(await send({ from: "Acme!" }), "from", "invalid_format");
    const known = await send({ from: "aCmE" });
    expect(known.body.data?.from, "matched without case, shown as registered").to.equal("Acme");
  });

  it("client_reference: 1 to 64 printable ASCII characters", async () => {
    const full = " ~".repeat(32);
    expect((await send({ client_reference: full })).body.data.client_reference).to.equal(full);
    expect((await send({ client_reference: null })).body.data.client_reference).to.equal(null);
    expectField(await send({ client_reference: "" }), "client_reference", "too_short");
    expectField(await send({ client_reference: "x".repeat(65) }), "client_reference", "too_long");
    expectField(await send({ client_reference: "a\tb" }), "client_reference", "invalid_format");
  });

  it("Idempotency-Key: 1 to 64 characters", async () => {
    expect((await send({}, "k".repeat(64))).status).to.equal(202);
    expectField(await send({}, "k".repeat(65)), "Idempotency-Key", "invalid_format");
    expectField(await send({}, "a b"), "Idempotency-Key", "invalid_format");
  });

  it("Idempotency-Key: kept 24 hours", () => {
    expect(MESSAGING_SETTINGS.IDEMPOTENCY_TTL_MS.fallback).to.equal(DAY_MS);
  });

  it("send_at: 1 minute to 90 days from now", async () => {
    const at = (ms: number) => ({ send_at: new Date(Date.now() + ms).toISOString() });
    expectField(await send(at(58_000)), "send_at", "out_of_range");
    expect((await send(at(62_000))).body.data.status).to.equal("scheduled");
    expect((await send(at(90 * DAY_MS - 5000))).body.data.status).to.equal("scheduled");
    expectField(await send(at(90 * DAY_MS + 5000)), "send_at", "out_of_range");
    expectField(await send({ send_at: "2027-02-31T00:00:00Z" }), "send_at", "invalid_format");
  });

  it("List page size: 1 to 100, default 50", async () => {
    const sizes = await Promise.all([list({}), list({ limit: "100" }), list({ limit: "1" })]);
    expect(sizes.map(({ body }) => body.data.length)).to.deep.equal([50, 100, 1]);
    expectField(await list({ limit: "101" }), "limit", "out_of_range");
    expectField(await list({ limit: "0" }), "limit", "out_of_range");
    expectField(await list({ limit: "ten" }), "limit", "invalid_type");
  });

  it("List span: at most 92 days by default, named range_too_large at created_before", async () => {
    const before = ago(0);
    const since = (days: number) => new Date(Date.parse(before) - days * DAY_MS).toISOString();
    const fits = await list({ created_after: since(92), created_before: before });
    expect(fits.status).to.equal(200);
    const beyond = new Date(Date.parse(since(92)) - 1).toISOString();
    const wide = await list({ created_after: beyond, created_before: before });
    expectField(wide, "created_before", "range_too_large");
    expectField(
      await list({ created_after: ago(93 * DAY_MS) }),
      "created_before",
      "range_too_large",
    );
  });

  it("created_after: at most 12 months ago", async () => {
    const within = { created_after: ago(360 * DAY_MS), created_before: ago(300 * DAY_MS) };
    expect((await list(within)).status).to.equal(200);
    const beyond = { created_after: ago(368 * DAY_MS), created_before: ago(300 * DAY_MS) };
    expectField(await list(beyond), "created_after", "out_of_range");
  });

  it("Hold release after cancel or settlement: within about a minute", async function () {
    this.timeout(70_000);
    const saver = await rest.addCustomer({ funds: 1_000_000n });
    const at = new Date(Date.now() + 3_600_000).toISOString();
    const body = { to: "08031234567", from: "Acme", body: "Hello", send_at: at };
    const sent = await saver.call("POST", SEND, { body });
    const held = await saver.call("GET", "/v1/balance");
    expect(held.body.data).to.include({
      balance: "100.0000",
      held: "4.0000",
      available: "96.0000",
    });
    const cancelled = await saver.call("POST", `/v1/messages/${sent.body.data.id}/cancel`);
    expect(cancelled.body.data.status).to.equal("cancelled");
    await eventually(
      async () => {
        const { body: balance } = await saver.call("GET", "/v1/balance");
        return balance.data.available === "100.0000";
      },
      { timeoutMs: 60_000, what: "the release of the hold" },
    );
  });

  it("Delivery receipt wait before expired: 72 hours", () => {
    expect(MESSAGING_SETTINGS.RECEIPT_WAIT_MS.fallback).to.equal(3 * DAY_MS);
  });

  it("Webhook endpoints: 5", async () => {
    const add = (at: number) =>
      customer.call("POST", "/v1/webhook-endpoints", {
        body: { url: `${rest.stack.receiver.url.replace(/\/$/, "")}/hook-${at}` },
      });
    for (let at = 1; at <= 5; at += 1) {
      const made = await add(at);
      expect(made.status, made.text).to.equal(201);
      expect(made.body.data.secret).to.match(/^whsec_/);
    }
    const sixth = await add(6);
    expect(sixth.status, sixth.text).to.equal(422);
    expect(sixth.body.errors[0].code).to.equal("too_many");
  });

  it("Webhook answer time, attempts, delays and signature tolerance", () => {
    const { mongodb_uri, nats_url } = rest.stack;
    const config = readWebhookConfig({
      MONGODB_URI: mongodb_uri,
      NATS_URL: nats_url,
      ENCRYPTION_KEYS: `k1:${"A".repeat(43)}=`,
    });
    expect(config.WEBHOOK_TIMEOUT_MS).to.equal(10_000);
    expect(config.WEBHOOK_RETRY_DELAYS_MS, "four delays make five attempts").to.deep.equal([
      60_000, 300_000, 900_000, 3_600_000,
    ]);
    expect(SIGNATURE_TOLERANCE_S).to.equal(300);
  });
});

function expectField(answer: RestAnswer, field: string, code: string): void {
  expect(answer.status, answer.text.slice(0, 500)).to.equal(422);
  expect(answer.body.code).to.equal("validation_error");
  const found = answer.body.errors.find((entry: { field: string }) => entry.field === field);
  expect(found?.code, answer.text.slice(0, 500)).to.equal(code);
}
