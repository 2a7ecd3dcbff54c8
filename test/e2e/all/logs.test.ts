/** Invariant 10 on a whole stack: what customers entrust to it is in no line that it writes. */
import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { layoutOf } from "../../../deploy/dev/paths.ts";
import { portOf } from "../../../deploy/dev/port-layout.ts";
import { type Forbidden, findLeaks } from "../../support/log-scan.ts";
import { eventually } from "../../support/poll.ts";
import { type Customer, openRestStack, type RestStack } from "../../support/rest.ts";
import { ONE_PROCESS, type TestStack } from "../../support/stack.ts";

const SEND = "/v1/sms/messages";
const HOOKS = "/v1/webhook-endpoints";
const BODY = 'Your code is "482-913" – never tell it to anyone';
const NUMBERS = ["9901", "9903", "9906", "9911", "9912", "1234"].map((end) => `+234803555${end}`);

describe("the logs of a stack contain no personal data and no secrets", function () {
  this.timeout(60_000);
  let rest: RestStack<TestStack>;
  let customer: Customer;
  const forbidden: Forbidden[] = [];

  before(async function () {
    this.timeout(240_000);
    rest = await openRestStack({ LOG_LEVEL: "trace" }, { processes: ONE_PROCESS });
    customer = await rest.addCustomer();
    for (const text of [BODY, ...NUMBERS, ...NUMBERS.map((number) => `0${number.slice(4)}`)]) {
      forbidden.push({ kind: text === BODY ? "a body" : "a number", text });
    }
    forbidden.push({ kind: "an API key", text: customer.apiKey });
    forbidden.push({ kind: "the service token", text: rest.stack.grpc_token });
    forbidden.push({ kind: "the carrier's password", text: rest.stack.smsc.password });
  });
  after(async function () {
    this.timeout(60_000);
    await rest?.close();
  });

  /** Everything that the processes of ours have written so far. */
  function readLogs(): string {
    const { logDir } = layoutOf(rest.stack.dir);
    const ours = readdirSync(logDir).filter((name) => /^(services|smsc|migrate)/.test(name));
    return ours.map((name) => readFileSync(join(logDir, name), "utf8")).join("\n");
  }

  it("sends of every kind and fate, and webhooks that work and that fail", async () => {
    const { url } = rest.stack.receiver;
    const hook = await customer.call("POST", HOOKS, { body: { url } });
    const token = `token-${randomBytes(12).toString("hex")}`;
    // A port that webhooks may use and no process listens on.
    const base = Number(new URL(rest.stack.gateway).port);
    const deaf = `https://localhost:${portOf(base, "listen")}/${token}`;
    const failing = await customer.call("POST", HOOKS, { body: { url: deaf } });
    forbidden.push({ kind: "the path of a webhook", text: token });
    const rotated = await customer.call("POST", `${HOOKS}/${hook.body.data.id}/rotate-secret`);
    for (const { body, status, text } of [hook, failing, rotated]) {
      expect(status, text).to.be.within(200, 201);
      forbidden.push({ kind: "a webhook secret", text: body.data.secret });
    }
    const ids: string[] = [];
    for (const to of NUMBERS) {
      const answer = await customer.call("POST", SEND, { body: { to, from: "Acme", body: BODY } });
      expect(answer.status, answer.text).to.equal(202);
      ids.push(answer.body.data.id);
    }
    const bulk = { to: [...NUMBERS, "nobody"], from: "Acme", body: BODY };
    expect((await customer.call("POST", `${SEND}/bulk`, { body: bulk })).status).to.equal(202);
    const later = new Date(Date.now() + 86_400_000).toISOString();
    const scheduled = { to: NUMBERS[0], from: "Acme", body: BODY, send_at: later };
    const made = await customer.call("POST", SEND, { body: scheduled });
    await customer.call("POST", `/v1/messages/${made.body.data.id}/cancel`);
    await eventually(
      async () => (await customer.call("GET", `/v1/messages/${ids.at(-1)}`)).body.data.sent_at,
      { timeoutMs: 30_000, what: "the message to be sent" },
    );
    expect((await customer.call("POST", `${HOOKS}/${hook.body.data.id}/test`)).status).to.equal(
      202,
    );
    const deliveries = `${HOOKS}/${failing.body.data.id}/deliveries`;
    await eventually(
      async () => (await customer.call("GET", deliveries)).body.data[0]?.attempts[0]?.error,
      { timeoutMs: 30_000, what: "an attempt that failed" },
    );
  });

  it("refused requests, with their contents", async () => {
    const wrongKey = `sk_live_${randomBytes(32).toString("base64url")}`;
    forbidden.push({ kind: "a key that is not known", text: wrongKey });
    const body = { to: NUMBERS[0], from: "Acme", body: BODY };
    const refused = [
      customer.call("POST", SEND, { raw: `{"body":${JSON.stringify(BODY)},` }),
      customer.call("POST", SEND, { body: { ...body, [BODY.slice(0, 30)]: NUMBERS[1] } }),
      customer.call("POST", SEND, { body: { ...body, to: `${BODY} ${NUMBERS[2]}` } }),
      customer.call("POST", SEND, { body, apiKey: wrongKey }),
      customer.call("GET", `/v1/messages?to=${encodeURIComponent(NUMBERS[3] ?? "")}&limit=0`),
      customer.call("GET", `/v1/messages/${NUMBERS[4]}?api_key=${customer.apiKey}`),
      customer.call("POST", SEND, { body, headers: { "x-api-key": wrongKey, cookie: wrongKey } }),
    ];
    for (const answer of await Promise.all(refused)) expect(answer.status).to.be.below(500);
    const path = `${rest.stack.ops.messaging}/sms.v1.MessagingService/SendMessages`;
    const json = JSON.stringify({ from: "Acme", body: BODY, recipients: [{ to: NUMBERS[0] }] });
    for (const authorization of [`Bearer ${wrongKey}`, `Bearer ${rest.stack.grpc_token}`]) {
      const headers = { "content-type": "application/json", authorization };
      const answer = await fetch(path, { method: "POST", headers, body: json });
      expect(answer.status).to.be.within(400, 499);
    }
  });

  it("servers that go away in the middle", async () => {
    await rest.stack.restart("redis");
    await rest.stack.restart("nats-server");
    const body = { to: NUMBERS[5], from: "Acme", body: BODY };
    await eventually(async () => (await customer.call("POST", SEND, { body })).status === 202, {
      timeoutMs: 30_000,
      what: "a send after the servers came back",
    });
  });

  it("no line has a body, a full number, a key or a secret in it", async () => {
    const log = await eventually(() => {
      const text = readLogs();
      return text.includes(customer.tenantId) && text;
    });
    expect(log).to.contain('"message":"ready"');
    expect(log.split("\n").length, "lines").to.be.greaterThan(30);
    expect(findLeaks(log, forbidden)).to.deep.equal([]);
    // The scan sees what is there: a name of no secrecy stands for all that must not be.
    expect(findLeaks(log, [{ kind: "a tenant", text: customer.tenantId }])).to.not.have.length(0);
  });
});
