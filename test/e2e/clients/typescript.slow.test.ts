/** The TypeScript client against the real service, as a customer uses it. */
import { expect } from "chai";
import {
  createSmsClient,
  isSmsError,
  type SmsClient,
  type SmsError,
  verifyWebhook,
  WebhookSignatureError,
} from "../../../clients/typescript/src/client.ts";
import { openFaultyProxy } from "../../support/faulty-proxy.ts";
import { eventually } from "../../support/poll.ts";
import { type Customer, type RestStack, sharedRestStack } from "../../support/rest.ts";

type ReceivedEvent = { headers: Record<string, string>; body: string };

describe("the TypeScript client", function () {
  this.timeout(60_000);
  let rest: RestStack;
  let customer: Customer;
  let sms: SmsClient;

  before(async function () {
    this.timeout(120_000);
    rest = await sharedRestStack();
    customer = await rest.addCustomer();
    sms = clientOf(customer.apiKey);
  });

  const clientOf = (apiKey: string, more: Partial<Parameters<typeof createSmsClient>[0]> = {}) =>
    createSmsClient({ apiKey, baseUrl: rest.stack.gateway, maxRetries: 0, ...more });
  const GOOD = { to: "08031234567", from: "Acme", body: "Hello" } as const;
  const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString();

  async function failureOf(call: Promise<unknown>): Promise<SmsError> {
    try {
      await call;
    } catch (error) {
      if (isSmsError(error)) return error;
      throw error;
    }
    throw new Error("the call succeeded");
  }

  it("sends a message and reads it until it is delivered", async () => {
    const sent = await sms.messages.send({ ...GOOD, client_reference: "order-1" });
    expect(sent).to.include({ status: "queued", to: "+2348031234567", held_amount: "4.0000" });
    const done = await eventually(async () => {
      const message = await sms.messages.get(sent.id);
      return message.status === "delivered" && message;
    });
    expect(done.status_history.map(({ status }) => status)).to.include("delivered");
    expect((await sms.balance.get()).currency).to.equal("NGN");
  });

  it("a bulk send with one bad recipient accepts the others and says why", async () => {
    const to = ["08031111111", "nobody", "08031111112"];
    const result = await sms.messages.sendBulk({ to, from: "Acme", body: "Hi" });
    expect(result).to.include({ requested: 3, accepted: 2, rejected: 1 });
    expect(result.messages.map(({ error }) => error?.code)).to.deep.equal([
      undefined,
      "invalid_recipient",
      undefined,
    ]);
  });

  it("iterates a list over several pages, each entry once", async () => {
    const reader = await rest.addCustomer();
    const client = clientOf(reader.apiKey);
    const sent: string[] = [];
    for (let at = 0; at < 5; at += 1) {
      sent.push((await client.messages.send({ ...GOOD, body: `Message ${at}` })).id);
    }
    const listed: string[] = [];
    for await (const { id } of client.messages.list({ limit: 2 })) listed.push(id);
    expect(listed).to.deep.equal(sent.toReversed());
    let entries = 0;
    let cursor: string | null = null;
    for await (const page of client.messages.list({ limit: 2 }).pages()) {
      entries += page.data.length;
      cursor = page.next_cursor ?? cursor;
    }
    expect(entries).to.equal(5);
    expect(cursor).to.be.a("string");
    const filtered = client.messages.list({ status: ["scheduled", "failed"] });
    for await (const _ of filtered) expect.fail("no message has these statuses");
    for await (const { name, usable } of client.senderIds.list()) {
      expect({ name, usable }).to.deep.equal({ name: "Acme", usable: true });
    }
  });

  it("cancels a scheduled message; a cancel of a delivered one is a conflict of its state", async () => {
    const sent = await sms.messages.send({ ...GOOD, send_at: inAnHour() });
    expect((await sms.messages.cancel(sent.id)).status).to.equal("cancelled");
    const other = await sms.messages.send(GOOD);
    await eventually(async () => (await sms.messages.get(other.id)).status === "delivered");
    const failure = await failureOf(sms.messages.cancel(other.id));
    expect(failure.code).to.equal("invalid_state_transition");
  });

  it("401, 402, 403, 404, 409, 422 and 429 come as members of one union", async () => {
    const stranger = clientOf(`sk_live_${"x".repeat(43)}`);
    expect((await failureOf(stranger.balance.get())).code).to.equal("unauthenticated");

    const poor = await rest.addCustomer({ funds: 10_000n });
    const unpaid = await failureOf(clientOf(poor.apiKey).messages.send(GOOD));
    if (unpaid.code !== "insufficient_balance") throw unpaid;
    // The compiler knows these members after the comparison of the code.
    expect([unpaid.status, unpaid.requiredAmount, unpaid.availableAmount]).to.deep.equal([
      402,
      "4.0000",
      "1.0000",
    ]);
    expect(unpaid.currency).to.equal("NGN");

    const reader = await customer.addKey({ scopes: ["messages:read"] });
    expect((await failureOf(clientOf(reader).messages.send(GOOD))).code).to.equal(
      "insufficient_scope",
    );
    expect((await failureOf(sms.messages.get("msg_1"))).code).to.equal("not_found");

    const idempotencyKey = "union-1";
    await sms.messages.send(GOOD, { idempotencyKey });
    const reused = sms.messages.send({ ...GOOD, body: "Other" }, { idempotencyKey });
    expect((await failureOf(reused)).code).to.equal("idempotency_key_reused");

    const wrong = await failureOf(sms.messages.send({ ...GOOD, to: "nobody", body: "" }));
    if (wrong.code !== "validation_error") throw wrong;
    expect(wrong.fields.map(({ field, code }) => `${field} ${code}`)).to.include("body too_short");
    expect(wrong.requestId).to.match(/^req_/);

    const hasty = await rest.addCustomer({ rateLimit: 1, burst: 1 });
    const client = clientOf(hasty.apiKey);
    await client.balance.get();
    const limited = await failureOf(client.balance.get());
    if (limited.code !== "rate_limited") throw limited;
    expect(limited.retryAfterMs).to.be.within(1, 2000);
  });

  it("after a 503 and a lost response a send is one message, under one key", async () => {
    const proxy = await openFaultyProxy(rest.stack.gateway);
    try {
      const replays: boolean[] = [];
      const client = clientOf(customer.apiKey, {
        baseUrl: proxy.url,
        maxRetries: 4,
        onResponse: ({ isReplayed }) => replays.push(isReplayed),
      });
      const to = "+2348036000001";
      const sent = await client.messages.send({ ...GOOD, to });
      expect(proxy.keys).to.have.length(3);
      expect(new Set(proxy.keys).size).to.equal(1);
      const listed: string[] = [];
      for await (const { id } of sms.messages.list({ to })) listed.push(id);
      expect(listed).to.deep.equal([sent.id]);
      // The lost response is not seen; the proxy passes no headers on.
      expect(replays).to.have.length(2);
    } finally {
      proxy.close();
    }
  });

  it("a repeat under a key of one's own gets the stored response", async () => {
    const replays: boolean[] = [];
    const client = clientOf(customer.apiKey, {
      onResponse: ({ isReplayed }) => replays.push(isReplayed),
    });
    const options = { idempotencyKey: "stored-1" };
    const first = await client.messages.send(GOOD, options);
    expect(await client.messages.send(GOOD, options)).to.deep.equal(first);
    expect(replays).to.deep.equal([false, true]);
  });

  it("a time limit is a timeout, no server is a failed connection, a signal ends the wait", async () => {
    const late = await failureOf(sms.messages.list({}, { timeoutMs: 0 }).pages().next());
    expect(late.code).to.equal("timeout");
    const nowhere = clientOf(customer.apiKey, { baseUrl: "http://127.0.0.1:9" });
    const lost = await failureOf(nowhere.balance.get());
    expect([lost.code, lost.attempts]).to.deep.equal(["connection_failed", 1]);

    const controller = new AbortController();
    const waiting = nowhere.balance.get({ signal: controller.signal, maxRetries: 9 });
    const reason = new Error("shutting down");
    controller.abort(reason);
    expect(await waiting.catch((error: unknown) => error)).to.equal(reason);
  });

  it("verifies a real delivery, of both secrets after a rotation, and refuses a changed one", async () => {
    const owner = await rest.addCustomer();
    const client = clientOf(owner.apiKey);
    const { url, events } = rest.stack.receiver;
    const endpoint = await client.webhookEndpoints.create({
      url,
      event_types: ["message.status_changed", "webhook.test"],
    });
    const received = (text: string) =>
      eventually(async () => {
        const answer = await fetch(`${events}?contains=${text}`);
        return ((await answer.json()) as ReceivedEvent[])[0];
      });
    const sent = await client.messages.send(GOOD);
    const { headers, body } = await received(sent.id);
    const signature = headers["x-service-signature"];
    const event = await verifyWebhook({ body, signature, secret: endpoint.secret });
    if (event.type !== "message.status_changed") throw new Error(event.type);
    // The compiler knows the members of this type of event.
    expect(event.data.object.id).to.equal(sent.id);
    const forged = { body: body.replace("Hello", "Hullo"), signature, secret: endpoint.secret };
    const refusal = await verifyWebhook(forged).catch((error: unknown) => error);
    expect(refusal).to.be.instanceOf(WebhookSignatureError).with.property("code", "no_match");

    const rotated = await client.webhookEndpoints.rotateSecret(endpoint.id);
    const test = await client.webhookEndpoints.sendTest(endpoint.id);
    const second = await received(test.event_id);
    for (const secret of [endpoint.secret, rotated.secret]) {
      const { type } = await verifyWebhook({
        body: new TextEncoder().encode(second.body),
        signature: second.headers["x-service-signature"],
        secret,
      });
      expect(type).to.equal("webhook.test");
    }
    await eventually(async () => {
      const page = await client.webhookEndpoints.listDeliveries(endpoint.id).pages().next();
      // The receiver knows only its own endpoint's secret, so it refuses this delivery.
      return page.value?.data.some(({ attempts }) => attempts[0]?.http_status === 400);
    });
    await client.webhookEndpoints.delete(endpoint.id);
    expect((await failureOf(client.webhookEndpoints.get(endpoint.id))).code).to.equal("not_found");
  });

  it("runs a campaign from a CSV file to its end", async () => {
    const { id } = await sms.campaigns.create({
      name: "Spring",
      from: "Acme",
      body: "Hi {{name}}",
    });
    const csv = "to,name\n08032000001,Ada\n08032000002,Obi\n08032000003,Eze\nnobody,X\n";
    const made = await sms.campaigns.addRecipientsCsv(id, csv);
    expect(made).to.include({ taken: 3, rejected: 1 });
    const rows: string[] = [];
    for await (const { to, variables } of sms.campaigns.listRecipients(id, { limit: 2 })) {
      rows.push(`${to} ${variables.name}`);
    }
    expect(rows).to.deep.equal(["+2348032000001 Ada", "+2348032000002 Obi", "+2348032000003 Eze"]);
    const files: string[] = [];
    for await (const file of sms.campaigns.listRecipientsCsv(id, { limit: 2 })) files.push(file);
    expect(files).to.have.length(2);
    expect(files[1]).to.include("+2348032000003");
    expect((await sms.campaigns.estimate(id)).amount).to.equal("12.0000");
    expect((await sms.campaigns.preview(id, { limit: 1 }))[0]?.body).to.equal("Hi Ada");
    await sms.campaigns.start(id);
    const done = await eventually(
      async () => {
        const campaign = await sms.campaigns.get(id);
        return campaign.status === "completed" && campaign;
      },
      { timeoutMs: 30_000 },
    );
    expect(done.progress.total).to.equal(3);
    expect((await failureOf(sms.campaigns.delete(id))).code).to.equal("invalid_state_transition");
  });

  it("adds, lists and removes suppressions", async () => {
    const number = "+2348033000001";
    const added = await sms.suppressions.addCsv("number,reason\n08033000001,asked\n");
    expect(added).to.include({ added: 1, rejected: 0 });
    const files: string[] = [];
    for await (const file of sms.suppressions.listCsv({ number })) files.push(file);
    expect(files.join("")).to.include(number);
    await sms.suppressions.remove(number);
    for await (const _ of sms.suppressions.list({ number })) expect.fail("it was removed");
  });

  it("a test key has test messages of its own", async () => {
    const client = clientOf(customer.testKey);
    expect(client.mode).to.equal("test");
    const sent = await client.messages.send(GOOD);
    expect(sent).to.include({ mode: "test", held_amount: "0.0000" });
    expect((await failureOf(sms.messages.get(sent.id))).code).to.equal("not_found");
  });
});
