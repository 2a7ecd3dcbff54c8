/** Messages from handsets, opt-outs and suppressions, through the simulator and the API. */
import { Code, type ConnectError, createClient } from "@connectrpc/connect";
import { expect } from "chai";
import { isSigned } from "../../../deploy/dev/signature.ts";
import { ConsentService } from "../../../proto/gen/sms/v1/consent_pb.js";
import { TrafficClass } from "../../../proto/gen/sms/v1/sender_id_pb.js";
import {
  createGrpcJsTransport,
  type RpcTransport,
} from "../../../services/shared/rpc/transport.ts";
import { type CheckedCall, openCheckedCall } from "../../support/openapi-check.ts";
import { eventually } from "../../support/poll.ts";
import {
  type Customer,
  type RestAnswer,
  type RestStack,
  sharedRestStack,
} from "../../support/rest.ts";

type Endpoint = { id: string; secret: string };
type Delivery = { id: string; event_type: string };

const BULK = "/v1/sms/messages/bulk";
let nextShortCode = 30_000;

describe("REST: consent", function () {
  this.timeout(60_000);
  let rest: RestStack;
  let transport: RpcTransport;
  let call: CheckedCall;

  before(async function () {
    this.timeout(120_000);
    rest = await sharedRestStack();
    const { grpc, grpc_token: token } = rest.stack;
    transport = createGrpcJsTransport({ target: grpc.consent ?? "", token });
    call = await openCheckedCall(rest);
  });
  after(() => transport?.close());

  const consent = () => createClient(ConsentService, transport);

  /** A customer with a short code of its own. */
  async function customerWithCode(options: { keyword?: string; code?: string } = {}) {
    const customer = await rest.addCustomer();
    nextShortCode += 1;
    const { code = String(nextShortCode) } = options;
    await consent().createInboundNumber({
      number: code,
      tenantId: customer.tenantId,
      keyword: options.keyword ?? "",
    });
    return { customer, code };
  }

  /** A handset writes, through the carrier. */
  async function writes(source: string, destination: string, text: string): Promise<void> {
    const response = await fetch(new URL("/mo", rest.stack.smsc.control), {
      method: "POST",
      body: JSON.stringify({ source, destination, text }),
    });
    expect(response.ok, await response.text()).to.equal(true);
  }

  async function received(customer: Customer, count: number): Promise<RestAnswer> {
    return eventually(
      async () => {
        const answer = await call(customer, "GET", "/v1/inbound-messages");
        return answer.body.data.length === count && answer;
      },
      { what: `${count} inbound messages`, timeoutMs: 10_000 },
    );
  }

  async function addEndpoint(customer: Customer): Promise<Endpoint> {
    const event_types = ["inbound_message.received", "recipient.opted_out"];
    const body = { url: rest.stack.receiver.url, event_types };
    const created = await call(customer, "POST", "/v1/webhook-endpoints", { body });
    expect(created.status, created.text).to.equal(201);
    return created.body.data;
  }

  /** Bodies with this text that were signed with the endpoint's secret. */
  async function requestsWith(text: string, secret: string): Promise<string[]> {
    const response = await fetch(`${rest.stack.receiver.events}?contains=${text}`);
    const all = (await response.json()) as { headers: Record<string, string>; body: string }[];
    return all.flatMap(({ headers, body }) =>
      isSigned(headers["x-service-signature"], Buffer.from(body), [secret], Date.now())
        ? [body]
        : [],
    );
  }

  /** The verdict of a bulk with one number that never opts out. */
  async function bulk(customer: Customer, to: string, more: object = {}) {
    const body = { to: [to, "+2348039999999"], from: customer.sender, body: "Hello", ...more };
    const answer = await call(customer, "POST", BULK, { body });
    return answer.body.data?.messages[0].error?.code ?? answer.body.data?.messages[0].status;
  }

  it("shows what a handset writes, in any alphabet and in several parts", async () => {
    const { customer, code } = await customerWithCode();
    const long = "é".repeat(200);
    await writes("+2348031600001", code, "Hello you");
    await writes("+2348031600001", code, "Привет");
    await writes("+2348031600001", code, long);
    const { data } = (await received(customer, 3)).body;
    const bodies = data.map(({ body }: { body: string }) => body);
    expect(bodies).to.have.members(["Hello you", "Привет", long]);
    expect(data[0]).to.include({ from: "+2348031600001", to: code, complete: true });
    const one = await call(customer, "GET", `/v1/inbound-messages/${data[0].id}`);
    expect(one.body.data).to.deep.equal(data[0]);
    const filtered = await call(customer, "GET", "/v1/inbound-messages?from=08031600009");
    expect(filtered.body.data).to.deep.equal([]);
  });

  it("takes a number out at STOP within two seconds, and back in at START", async () => {
    const { customer, code } = await customerWithCode();
    const number = "+2348031610001";
    expect(await bulk(customer, number)).to.equal("queued");
    await writes(number, code, " stop ");
    await eventually(async () => (await bulk(customer, number)) === "recipient_opted_out", {
      what: "the opt-out",
      timeoutMs: 2000,
    });
    const single = await call(customer, "POST", "/v1/sms/messages", {
      body: { to: number, from: customer.sender, body: "Hello" },
    });
    expect(single.status).to.equal(422);
    expect(single.body.errors[0]).to.include({ field: "to", code: "recipient_opted_out" });
    const otp = await rest.senderIds.createSenderId({
      tenantId: customer.tenantId,
      name: "Codes",
      approve: true,
      trafficClass: TrafficClass.OTP,
    });
    expect(otp.senderId?.trafficClass).to.equal(TrafficClass.OTP);
    expect(await bulk(customer, number, { from: "Codes" })).to.equal("queued");
    const narrowed = { from: "Codes", traffic_class: "promotional" };
    expect(await bulk(customer, number, narrowed)).to.equal("recipient_opted_out");
    await writes(number, code, "Start");
    await eventually(async () => (await bulk(customer, number)) === "queued", {
      what: "the opt-in",
      timeoutMs: 2000,
    });
  });

  it("takes a number out of every sender ID at STOPALL, and back in at START", async () => {
    const customer = await rest.addCustomer();
    nextShortCode += 1;
    const number = String(nextShortCode);
    const { tenantId, sender } = customer;
    await consent().createInboundNumber({ number, tenantId, sender });
    for (const [text, verdict] of [
      ["Stopall", "recipient_opted_out"],
      ["START", "queued"],
      ["stop", "recipient_opted_out"],
      ["unstop", "queued"],
    ] as const) {
      await writes("+2348031611001", number, text);
      await eventually(async () => (await bulk(customer, "+2348031611001")) === verdict, {
        what: `the effect of ${text}`,
        timeoutMs: 5000,
      });
    }
  });

  it("takes twenty additions of a new customer at once", async () => {
    const customer = await rest.addCustomer();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, at) => {
        const body = { suppressions: [{ number: `+23480316120${10 + at}` }] };
        return call(customer, "POST", "/v1/suppressions", { body });
      }),
    );
    expect(new Set(answers.map(({ status }) => status)), answers[0]?.text).to.deep.equal(
      new Set([200]),
    );
    const { data } = (await call(customer, "GET", "/v1/suppressions?limit=100")).body;
    expect(data).to.have.length(20);
  });

  it("refuses a class that the sender ID does not carry", async () => {
    const customer = await rest.addCustomer();
    const body = { to: "+2348031610002", from: customer.sender, body: "Hi", traffic_class: "otp" };
    const refused = await call(customer, "POST", "/v1/sms/messages", { body });
    expect(refused.status).to.equal(422);
    expect(refused.body.errors[0]).to.include({
      field: "traffic_class",
      code: "traffic_class_not_allowed",
    });
  });

  it("keeps tenants apart that share a short code by keyword", async () => {
    const { customer: shop, code } = await customerWithCode({ keyword: "SHOP" });
    const { customer: bank } = await customerWithCode({ keyword: "bank", code });
    await writes("+2348031620001", code, "shop what is new?");
    await writes("+2348031620002", code, "BANK balance");
    await writes("+2348031620003", code, "nobody's");
    await writes("+2348031620004", code, "shop stop");
    const shops = (await received(shop, 2)).body.data;
    const banks = (await received(bank, 1)).body.data;
    expect(banks[0].body).to.equal("BANK balance");
    expect(shops.map(({ action }: { action: string | null }) => action)).to.have.members([
      "opt_out",
      null,
    ]);
    for (const [reader, { id, from }] of [
      ...shops.map((message: { id: string; from: string }) => [bank, message] as const),
      ...banks.map((message: { id: string; from: string }) => [shop, message] as const),
    ]) {
      const foreign = await call(reader, "GET", `/v1/inbound-messages/${id}`);
      expect(foreign.status).to.equal(404);
      const path = `/v1/inbound-messages?from=${encodeURIComponent(from)}&to=${code}`;
      expect((await call(reader, "GET", path)).body.data).to.deep.equal([]);
    }
    expect(await bulk(shop, "+2348031620004")).to.equal("recipient_opted_out");
    expect(await bulk(bank, "+2348031620004")).to.equal("queued");
    expect((await call(shop, "GET", "/v1/suppressions")).body.data.length).to.equal(1);
    expect((await call(bank, "GET", "/v1/suppressions")).body.data).to.deep.equal([]);
    const taken = await call(bank, "DELETE", "/v1/suppressions/%2B2348031620004");
    expect(taken.status).to.equal(404);
    expect(await bulk(shop, "+2348031620004")).to.equal("recipient_opted_out");
  });

  it("announces each message of a shared short code to the webhooks of its tenant alone", async () => {
    const { customer: shop, code } = await customerWithCode({ keyword: "SHOP" });
    const { customer: bank } = await customerWithCode({ keyword: "BANK", code });
    const [ofShop, ofBank] = [await addEndpoint(shop), await addEndpoint(bank)];
    await writes("+2348031622001", code, "shop stop");
    await writes("+2348031622002", code, "bank STOP");
    await writes("+2348031622003", code, "of no tenant");
    await writes("+2348031622004", code, "bank hello");
    const types = async ({ secret }: Endpoint) =>
      (await requestsWith("31622", secret)).map((body) => JSON.parse(body).type as string);
    const shopTypes = ["inbound_message.received", "recipient.opted_out"];
    const bankTypes = ["inbound_message.received", ...shopTypes];
    await eventually(
      async () => {
        const [shops, banks] = [new Set(await types(ofShop)), await types(ofBank)];
        return shops.size >= shopTypes.length && banks.length >= bankTypes.length;
      },
      { what: "the webhooks of both", timeoutMs: 20_000 },
    );
    const seen = async ({ secret }: Endpoint) => (await requestsWith("31622", secret)).join();
    expect(await seen(ofShop), "seen by the shop").not.to.match(/bank|3162200[234]/i);
    expect(await seen(ofBank), "seen by the bank").not.to.match(/shop|3162200[13]/i);

    for (const [owner, own, other, foreign, expected] of [
      [shop, ofShop, bank, ofBank, shopTypes],
      [bank, ofBank, shop, ofShop, bankTypes],
    ] as const) {
      const logOf = ({ id }: Endpoint) => `/v1/webhook-endpoints/${id}/deliveries`;
      const log = (await call(owner, "GET", logOf(own))).body.data as Delivery[];
      expect(log.map(({ event_type }) => event_type)).to.have.members(expected);
      expect((await call(other, "GET", logOf(own))).status).to.equal(404);
      for (const { id } of log) {
        expect((await call(other, "GET", `${logOf(foreign)}/${id}`)).status).to.equal(404);
        expect((await call(other, "POST", `${logOf(foreign)}/${id}/resend`)).status).to.equal(404);
      }
    }
  });

  it("keeps them apart over every call of the consent service", async () => {
    const { customer: shop, code } = await customerWithCode({ keyword: "SHOP" });
    const { customer: bank } = await customerWithCode({ keyword: "BANK", code });
    await writes("+2348031621001", code, "shop stop");
    await writes("+2348031621002", code, "bank hello");
    const [shops] = (await received(shop, 1)).body.data;
    await received(bank, 1);
    const tenantId = bank.tenantId;
    const refused = (call: Promise<unknown>) =>
      call.then(
        () => "answered",
        (error: ConnectError) => Code[error.code],
      );
    const rpc = consent();
    const numbers = ["+2348031621001"];
    await rpc.setKeywords({ tenantId: shop.tenantId, keywords: { optOut: ["GENUG"] } });
    const [own] = (await rpc.listInboundNumbers({ tenantId: shop.tenantId })).inboundNumbers;
    const listed = await rpc.listInboundMessages({ tenantId });
    expect(listed.messages.map(({ body }) => body)).to.deep.equal(["bank hello"]);
    expect(await refused(rpc.getInboundMessage({ tenantId, id: shops.id }))).to.equal("NotFound");
    const table = await rpc.getSuppressionTable({ tenantId, knownVersion: -1n });
    expect(table.numbers).to.deep.equal([]);
    expect((await rpc.checkSuppressions({ tenantId, numbers })).suppressed).to.deep.equal([]);
    expect((await rpc.listSuppressions({ tenantId })).suppressions).to.deep.equal([]);
    expect(await refused(rpc.removeSuppression({ tenantId, number: "+2348031621001" }))).to.equal(
      "NotFound",
    );
    const owned = (await rpc.listInboundNumbers({ tenantId })).inboundNumbers;
    expect(owned.map(({ keyword }) => keyword)).to.deep.equal(["BANK"]);
    expect(await refused(rpc.removeInboundNumber({ tenantId, id: own?.id ?? "" }))).to.equal(
      "NotFound",
    );
    expect((await rpc.getKeywords({ tenantId })).keywords?.optOut).to.deep.equal([]);
    const { records } = await rpc.listAuditRecords({ tenantId });
    expect(records.filter((record) => record.tenantId !== tenantId)).to.deep.equal([]);
    let counted = 0n;
    for await (const part of rpc.checkInbound({ tenantId })) counted += part.messages;
    expect(counted).to.equal(1n);
    // Shop's own word means nothing to the bank.
    await writes("+2348031621002", code, "bank genug");
    await received(bank, 2);
    expect((await rpc.listSuppressions({ tenantId })).suppressions).to.deep.equal([]);
  });

  it("lists, adds and removes suppressions, as JSON and as CSV", async () => {
    const customer = await rest.addCustomer();
    const added = await call(customer, "POST", "/v1/suppressions", {
      body: {
        suppressions: [
          { number: "08031630001", reason: "asked on the phone" },
          { number: "not a number" },
          { number: "+2348031630002", sender_id: customer.sender },
        ],
      },
    });
    expect(added.body.data).to.include({ added: 2, unchanged: 0, rejected: 1 });
    expect(added.body.data.faults[0]).to.include({ line: 1, code: "invalid_recipient" });
    const file = await call(customer, "POST", "/v1/suppressions", {
      raw: "number;reason\n08031630001;again\n08031630003;=cmd\n",
      headers: { "content-type": "text/csv" },
    });
    expect(file.body.data).to.include({ added: 1, unchanged: 1, rejected: 0 });
    const first = await call(customer, "GET", "/v1/suppressions?limit=2");
    const path = `/v1/suppressions?limit=2&cursor=${first.body.next_cursor}`;
    const second = await call(customer, "GET", path);
    const numbers = [...first.body.data, ...second.body.data].map(
      ({ number }: { number: string }) => number,
    );
    expect(numbers).to.deep.equal(["+2348031630001", "+2348031630002", "+2348031630003"]);
    // A generated client names every media type of the document, JSON first.
    const json = await call(customer, "GET", "/v1/suppressions", {
      headers: { accept: "application/json, text/csv, application/problem+json" },
    });
    expect(json.body.data).to.have.length(3);
    const csv = await call(customer, "GET", "/v1/suppressions", {
      headers: { accept: "text/csv, */*;q=0.5" },
    });
    expect(csv.text).to.contain("+2348031630003,,import,'=cmd,");
    expect(await bulk(customer, "+2348031630002")).to.equal("recipient_opted_out");
    const gone = await call(customer, "DELETE", "/v1/suppressions/%2B2348031630001");
    expect(gone.status).to.equal(204);
    expect((await call(customer, "DELETE", "/v1/suppressions/08031630001")).status).to.equal(404);
    await eventually(async () => (await bulk(customer, "+2348031630001")) === "queued", {
      what: "the removal",
    });
  });
});
