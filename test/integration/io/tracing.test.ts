/** One message's trace over every process, as a collector receives it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { layoutOf } from "../../../deploy/dev/paths.ts";
import { callRest, type SeenMessage } from "../../support/customer.ts";
import {
  type OtlpReceiver,
  type ReceivedSpan,
  startOtlpReceiver,
} from "../../support/otlp-receiver.ts";
import { eventually } from "../../support/poll.ts";
import { startTestStack, type TestStack } from "../../support/stack.ts";

const TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER_SPAN = "00f067aa0ba902b7";
const TO = "+2348031230001";
const BODY = "Only the handset may read this text.";
const PRODUCER = 4;
const CONSUMER = 5;

describe("traces", () => {
  let collector: OtlpReceiver;
  let stack: TestStack;
  let message: SeenMessage;
  let webhooks: { headers: Record<string, string>; body: string }[];

  before(async function () {
    this.timeout(120_000);
    collector = await startOtlpReceiver();
    stack = await startTestStack({
      settings: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: "100" },
    });
    const answer = await callRest(stack, "POST", "/v1/sms/messages", {
      body: { to: TO, from: stack.sender_id, body: BODY },
      // A caller's "not sampled" flag does not decide what we record.
      headers: { traceparent: `00-${TRACE_ID}-${CALLER_SPAN}-00` },
    });
    expect(answer.status).to.equal(202);
    message = answer.body.data as SeenMessage;
    // The wallet consumes the one change that moves money, webhooks consume both.
    await eventually(() => attempts().length >= 2 && batches().length >= 3, {
      timeoutMs: 30_000,
      what: "the spans of two webhooks and of the batches before them",
    });
    const url = `${stack.receiver.events}?contains=${message.id}`;
    webhooks = (await (await fetch(url)).json()) as typeof webhooks;
  });
  after(async function () {
    this.timeout(60_000);
    await stack?.stop();
    await collector?.close();
  });

  const ours = () => collector.spans.filter(({ traceId }) => traceId === TRACE_ID);
  const named = (name: string) => ours().filter((span) => span.name === name);
  const attempts = () => named("POST");
  const made = () => new Set(named("create events.message").map(({ spanId }) => spanId));
  const batches = () => {
    const events = made();
    return collector.spans.filter(
      ({ kind, links }) => kind === CONSUMER && links.some(({ spanId }) => events.has(spanId)),
    );
  };

  it("one message is one connected trace from the REST request to its webhooks", () => {
    const known = new Set([CALLER_SPAN, ...ours().map(({ spanId }) => spanId)]);
    for (const span of ours()) expect(known, JSON.stringify(span)).to.include(span.parentId);
    const path = [...pathTo(attempts()[0] as ReceivedSpan)].map((span) => span.service);
    expect(path).to.deep.equal([
      ...["sms-gateway", "sms-gateway", "sms-messaging", "sms-messaging"],
      ...["sms-messaging", "sms-webhook"],
    ]);
    expect(named("POST /v1/sms/messages")[0]).to.include({ parentId: CALLER_SPAN, kind: 2 });
  });

  it("a submit to a carrier is part of the message's trace", () => {
    expect(named("submit")).to.have.lengthOf(1);
    expect(named("submit")[0]).to.include({ service: "sms-carrier", isError: false });
    expect(named("submit")[0]?.attributes).to.deep.include({
      "sms.message.id": message.id,
      "sms.connector.id": "smsc",
      "sms.outcome": "accepted",
    });
  });

  it("a batch of events is a trace of its own, linked to the producer of each event", () => {
    expect(named("create events.message").map(({ kind }) => kind)).to.deep.equal([
      PRODUCER,
      PRODUCER,
    ]);
    for (const durable of ["wallet-settle", "webhook-deliver"]) {
      const linked = batches().filter(({ name }) => name === `process ${durable}`);
      expect(linked.length, durable).to.be.greaterThan(0);
      for (const span of linked) {
        expect(span.parentId).to.equal("");
        expect(span.attributes).to.include({
          "messaging.system.name": "nats",
          "messaging.operation.type": "process",
          "messaging.destination.name": "SMS_EVENTS",
          "messaging.consumer.group.name": durable,
        });
      }
    }
  });

  it("a webhook carries the trace to the customer", () => {
    const attempted = new Set(attempts().map(({ spanId }) => spanId));
    const statuses = webhooks.map(({ headers }) => {
      const [, traceId, spanId] = headers.traceparent?.split("-") ?? [];
      expect(traceId).to.equal(TRACE_ID);
      return attempted.has(spanId ?? "");
    });
    expect(statuses).to.deep.equal([true, true]);
  });

  it("spans follow the conventions for HTTP and RPC", () => {
    expect(named("POST /v1/sms/messages")[0]?.attributes).to.include({
      "http.request.method": "POST",
      "http.route": "/v1/sms/messages",
      "http.response.status_code": 202,
    });
    const calls = named("sms.v1.MessagingService/SendEach");
    expect(calls.length).to.be.greaterThan(0);
    for (const span of calls) {
      expect(span.attributes).to.include({
        "rpc.system.name": "grpc",
        "rpc.method": "sms.v1.MessagingService/SendEach",
        "rpc.response.status_code": "OK",
      });
    }
    expect(attempts()[0]?.attributes).to.include({ "http.response.status_code": 204 });
  });

  it("no span contains bodies, numbers or keys", () => {
    const all = JSON.stringify(collector.spans);
    for (const secret of [BODY, TO.slice(1), TO.slice(4), stack.api_key, stack.grpc_token]) {
      expect(all).not.to.include(secret);
    }
  });

  it("the log line of a request names its trace", () => {
    const log = readFileSync(join(layoutOf(stack.dir).logDir, "gateway.log"), "utf8");
    const line = log.split("\n").find((text) => text.includes(`"trace_id":"${TRACE_ID}"`));
    expect(line).to.include('"route":"/v1/sms/messages"');
  });

  it("waiting spans are exported when a process ends", async function () {
    this.timeout(60_000);
    const before = collector.spans.length;
    const traceId = "0af7651916cd43dd8448eb211c80319c";
    await stack.restart("gateway", { OTEL_BSP_SCHEDULE_DELAY: "600000" });
    const headers = { traceparent: `00-${traceId}-${CALLER_SPAN}-01` };
    await callRest(stack, "GET", "/v1/balance", { headers });
    await stack.restart("gateway");
    const found = collector.spans.slice(before).filter((span) => span.traceId === traceId);
    expect(found.map(({ name }) => name)).to.include("GET /v1/balance");
  });

  /** The spans from our first span to this one. */
  function pathTo(span: ReceivedSpan): ReceivedSpan[] {
    const parent = ours().find(({ spanId }) => spanId === span.parentId);
    return parent === undefined ? [span] : [...pathTo(parent), span];
  }
});
