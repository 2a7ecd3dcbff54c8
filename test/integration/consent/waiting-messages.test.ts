/** Messages that wait while their recipient opts out, or while their route loses their traffic class. */
import { type Client, createClient } from "@connectrpc/connect";
import { expect } from "chai";
import { MongoClient } from "mongodb";
import { ConsentService } from "../../../proto/gen/sms/v1/consent_pb.js";
import { ConnectorState } from "../../../proto/gen/sms/v1/routing_pb.js";
import { TrafficClass } from "../../../proto/gen/sms/v1/sender_id_pb.js";
import {
  createGrpcJsTransport,
  type RpcTransport,
} from "../../../services/shared/rpc/transport.ts";
import { type CarrierStack, startCarrierStack } from "../../support/carrier-stack.ts";
import { eventually } from "../../support/poll.ts";
import { callRest } from "../../support/rest.ts";
import { readCounters } from "../../support/simulator-control.ts";
import { smsctl } from "../../support/smsctl.ts";

const ROUTE = { otp: "Codes", transactional: undefined, promotional: undefined } as const;

/** Events about a number. */
const isOf =
  (number: string) =>
  ({ data }: { data: { object: { number: string } } }) =>
    data.object.number === number;

describe("messages that wait", function () {
  this.timeout(60_000);
  let carrier: CarrierStack;
  let transport: RpcTransport;
  let consent: Client<typeof ConsentService>;
  let mongo: MongoClient;
  let serial = 0;

  before(async function () {
    this.timeout(120_000);
    carrier = await startCarrierStack();
    const { grpc, grpc_token: token, mongodb_uri: uri } = carrier.stack;
    transport = createGrpcJsTransport({ target: grpc.consent ?? "", token });
    consent = createClient(ConsentService, transport);
    mongo = await MongoClient.connect(uri);
    const added = ["--tenant", carrier.stack.tenant_id, "--name", "Codes", "--approve"];
    await smsctl(carrier.stack, "sender-id", "add", ...added, "--class", "otp");
  });
  after(async () => {
    await mongo?.close();
    transport?.close();
    await carrier?.stop();
  });

  const number = () => `+234803170${String(serial++).padStart(4, "0")}`;
  const setState = (state: ConnectorState) =>
    carrier.routing.updateConnector({
      id: "smsc",
      connector: { id: "smsc", state },
      fields: ["state"],
    });

  async function send(trafficClass: keyof typeof ROUTE, to: string) {
    const answer = await callRest(carrier.stack.gateway, "POST", "/v1/sms/messages", {
      apiKey: carrier.stack.api_key,
      body: {
        ...{ to, from: ROUTE[trafficClass] ?? carrier.stack.sender_id, body: "Hello" },
        traffic_class: trafficClass,
      },
    });
    return { status: answer.status, id: answer.body.data?.id as string, body: answer.body };
  }

  async function accepted(trafficClass: keyof typeof ROUTE, to: string): Promise<string> {
    const { status, id, body } = await send(trafficClass, to);
    expect(status, JSON.stringify(body)).to.equal(202);
    return id;
  }

  const until = (id: string, path: string) =>
    eventually(async () => expect(await carrier.path(id)).to.equal(path) && true, {
      ...{ timeoutMs: 20_000, what: path },
    });

  async function counted(to: string): Promise<number> {
    const { submits } = await readCounters(carrier.stack.smsc.control);
    return submits[to.slice(1)]?.total ?? 0;
  }

  async function invariants(): Promise<{ code: number; numbers: number[] }> {
    const { code, value } = await smsctl(carrier.stack, "check");
    const { breaches } = value as { breaches: { invariant: number }[] };
    return { code, numbers: [...new Set(breaches.map(({ invariant }) => invariant))] };
  }

  async function optOut(...numbers: string[]): Promise<void> {
    await consent.addSuppressions({
      tenantId: carrier.stack.tenant_id,
      suppressions: numbers.map((one) => ({ number: one })),
      source: "operator",
    });
    // The hint reaches messaging within the flight of one message; a refused send shows that it has.
    await eventually(async () => (await send("promotional", numbers[0] ?? "")).status === 422, {
      what: "the opt-out at messaging",
    });
  }

  it("end when their recipient opts out, uncharged; codes and confirmations go", async () => {
    await setState(ConnectorState.PAUSED);
    const numbers = [number(), number(), number(), number()] as const;
    const [transactional, promotional, otp, other] = await Promise.all([
      accepted("transactional", numbers[0]),
      accepted("promotional", numbers[1]),
      accepted("otp", numbers[2]),
      accepted("promotional", numbers[3]),
    ]);
    await optOut(numbers[0], numbers[1], numbers[2]);
    await setState(ConnectorState.ACTIVE);
    for (const id of [transactional, promotional]) {
      await until(id, "queued failed recipient_opted_out");
      expect((await carrier.get(id)).amount ?? 0n).to.equal(0n);
    }
    await until(otp, "queued sent delivered");
    await until(other, "queued sent delivered");
    expect(await counted(numbers[0])).to.equal(0);
    expect(await counted(numbers[1])).to.equal(0);
    expect(await invariants()).to.deep.equal({ code: 0, numbers: [] });
  });

  it("a message that was sent in spite of an opt-out is found by smsctl check", async () => {
    const to = number();
    const id = await accepted("promotional", to);
    await until(id, "queued sent delivered");
    await optOut(to);
    expect((await invariants()).numbers).to.deep.equal([]);
    const { claimedAtMs } = await carrier.get(id);
    const consents = mongo.db("sms_consent").collection("consents");
    const before = new Date(Number(claimedAtMs) - 61_000);
    const { modifiedCount } = await consents.updateOne({ number: to }, { $set: { at: before } });
    expect(modifiedCount).to.equal(1);
    expect(await invariants()).to.deep.equal({ code: 1, numbers: [15] });
    await consents.deleteOne({ number: to });
  });

  it("an inbound message that is stored twice is found by smsctl check", async () => {
    const part = {
      ...{ connectorId: "smsc", from: "+2348031700001", to: "2345", body: "Yes" },
      ...{ encoding: 1, total: 1, sequence: 1, receivedAtMs: BigInt(Date.now()) },
    };
    const { tickets } = await consent.recordInbound({ parts: [part, part] });
    await consent.recordInbound({ parts: [part] });
    expect(new Set(tickets).size).to.equal(1);
    const inbound = mongo.db("sms_consent").collection<{ _id: string }>("inbound");
    const stored = await inbound.find({ body: "Yes" }).toArray();
    expect(stored.length).to.equal(1);
    expect((await invariants()).numbers).to.deep.equal([]);
    await inbound.dropIndex("repeat_key");
    const copy = { ...stored[0], _id: stored[0]?._id.replace(/.$/, "0") ?? "" };
    await inbound.insertOne(copy);
    const { value } = await smsctl(carrier.stack, "check");
    const { breaches } = value as { breaches: { invariant: number; ids: string[] }[] };
    expect(breaches.map(({ invariant, ids }) => [invariant, ids.length])).to.deep.equal([
      ...[
        [16, 0],
        [16, 2],
      ],
    ]);
    await inbound.deleteOne({ _id: copy._id });
    await inbound.createIndex(
      { repeat_key: 1 },
      {
        ...{ name: "repeat_key", unique: true },
        partialFilterExpression: { repeat_key: { $exists: true } },
      },
    );
    // After the confirmation the same words are a new message.
    await consent.confirmInbound({ tickets });
    await consent.recordInbound({ parts: [part] });
    expect(await inbound.countDocuments({ body: "Yes" })).to.equal(2);
  });

  it("inbound messages of one call have the effects of one after the other", async () => {
    const tenantId = carrier.stack.tenant_id;
    const from = number();
    const rest = (method: string, path: string, body?: object) =>
      callRest(carrier.stack.gateway, method, path, {
        ...{ apiKey: carrier.stack.api_key, ...(body && { body }) },
      });
    const [endpoint] = (await rest("GET", "/v1/webhook-endpoints")).body.data;
    const eventTypes = [...endpoint.event_types, "recipient.opted_out", "recipient.opted_in"];
    const path = `/v1/webhook-endpoints/${endpoint.id}`;
    expect((await rest("PATCH", path, { event_types: eventTypes })).status).to.equal(200);
    const announced = async (to: string) => {
      const url = `${carrier.stack.receiver.events}?contains=recipient.opted`;
      const all = (await (await fetch(url)).json()) as { body: string }[];
      return all.map(({ body }) => JSON.parse(body)).filter(isOf(to));
    };
    // Webhooks learn of the new event types within some seconds.
    await eventually(
      async () => {
        const to = number();
        await consent.addSuppressions({
          ...{ tenantId, source: "operator", suppressions: [{ number: to }] },
        });
        return eventually(async () => (await announced(to)).length > 0, {
          ...{ what: "an event", timeoutMs: 1000 },
        }).catch(() => false);
      },
      { what: "the new event types", timeoutMs: 20_000 },
    );
    let receivedAtMs = Date.now();
    const part = (body: string, place: object = {}) => ({
      ...{ connectorId: "smsc", from, to: "2345", body, encoding: 1, total: 1, sequence: 1 },
      ...{ receivedAtMs: BigInt(receivedAtMs++), ...place },
    });
    // The second STOP has the words of the first, which is not confirmed; it opts out all the same.
    const sent = [part("STOP"), part("START"), part("STOP")];
    const { tickets } = await consent.recordInbound({ parts: sent });
    const asked = { tenantId, numbers: [from], sender: carrier.stack.sender_id };
    const { suppressed } = await consent.checkSuppressions(asked);
    expect(suppressed).to.deep.equal([from]);
    const events = await eventually(
      async () => {
        const own = await announced(from);
        return new Set(own.map(({ id }) => id)).size === 3 && own;
      },
      { what: "three events", timeoutMs: 10_000 },
    );
    expect(events.map(({ type }) => type)).to.include.members([
      ...["recipient.opted_out", "recipient.opted_in"],
    ]);
    // A START that is not confirmed may be older than the STOP.
    await consent.recordInbound({ parts: [part("START")] });
    expect((await consent.checkSuppressions(asked)).suppressed).to.deep.equal([from]);
    await consent.confirmInbound({ tickets });
    await consent.recordInbound({ parts: [part("START")] });
    const { suppressed: left } = await consent.checkSuppressions(asked);
    expect(left).to.deep.equal([]);
  });

  it("an unfinished message whose reference comes again is delivered as far as it came", async () => {
    const tenantId = carrier.stack.tenant_id;
    const from = "+2348031700003";
    const part = (body: string, sequence: number) => ({
      ...{ connectorId: "smsc", from, to: "2345", body, encoding: 1, reference: 7, total: 2 },
      ...{ sequence, receivedAtMs: BigInt(Date.now()) },
    });
    await consent.recordInbound({
      parts: [part("first ", 1), part("second ", 1), part("message", 2), part("message", 2)],
    });
    const shown = await eventually(
      async () => {
        const { messages } = await consent.listInboundMessages({ tenantId, from });
        return messages.length === 2 && messages;
      },
      { what: "both messages", timeoutMs: 10_000 },
    );
    const bodies = shown.map(({ body, partsReceived }) => `${body}|${partsReceived}`);
    expect(bodies.sort()).to.deep.equal(["first |1", "second message|2"]);
  });

  it("never leave over a route that does not carry their class any more", async () => {
    const { routes } = await carrier.routing.listRoutes({});
    const idOrName = routes[0]?.id ?? "";
    const limit = async (...classes: string[]) => {
      const { code, error } = await smsctl(
        ...([carrier.stack, "route", "update", idOrName, "--classes", classes.join(",")] as const),
      );
      expect(code, error).to.equal(0);
    };
    await setState(ConnectorState.PAUSED);
    const [promotional, transactional] = [
      await accepted("promotional", number()),
      await accepted("transactional", number()),
    ];
    const { to } = await carrier.get(promotional);
    await limit("otp", "transactional");
    await eventually(async () => (await send("promotional", number())).status === 422, {
      what: "the new table at messaging",
    });
    const refused = await send("promotional", number());
    expect(refused.body.errors[0]).to.include({ field: "to", code: "destination_not_supported" });
    const explained = await carrier.routing.explain({ to, trafficClass: TrafficClass.PROMOTIONAL });
    expect(explained.routes[0]?.chosen).to.equal(false);
    expect(explained.routes[0]?.why).to.equal(
      "Not for promotional messages: it carries otp, transactional.",
    );
    await setState(ConnectorState.ACTIVE);
    await until(transactional, "queued sent delivered");
    // It waits at no connector; the transactional one behind it has left.
    const { queues } = await carrier.messaging.getQueueStats({});
    expect(queues.map(({ connectorId, waiting }) => [connectorId, waiting])).to.deep.include([
      ...["", 1n],
    ]);
    expect(await carrier.path(promotional)).to.equal("queued");
    expect(await counted(to)).to.equal(0);
    await limit("*");
    await until(promotional, "queued sent delivered");
    expect(await counted(to)).to.equal(1);
  });

  it("end when the carrier answers that the recipient is on a do-not-disturb list", async () => {
    const [submit, receipt] = ["+2348031719916", "+2348031719901"];
    const smpp = { errorCodes: { "27": "dnd_blocked" } };
    await carrier.routing.updateConnector({
      ...{ id: "smsc", connector: { id: "smsc", smpp }, fields: ["smpp.error_codes"] },
    });
    const refused = await accepted("promotional", submit);
    await until(refused, "queued failed dnd_blocked");
    expect((await carrier.get(refused)).carrierCode).to.match(/0x0*420/i);
    expect((await carrier.get(refused)).amount ?? 0n).to.equal(0n);
    const late = await eventually(async () => {
      const id = await accepted("promotional", receipt);
      await eventually(async () => (await carrier.path(id)).includes("undelivered"));
      return (await carrier.path(id)).endsWith("dnd_blocked") && id;
    });
    expect(await carrier.path(late)).to.equal("queued sent undelivered dnd_blocked");
    expect((await carrier.get(late)).amount).to.not.equal(0n);
  });
});
