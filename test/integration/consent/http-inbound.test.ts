/** Messages from handsets that an HTTP carrier hands over by callbacks, through the simulator's real requests. */
import { type Client, createClient } from "@connectrpc/connect";
import { expect } from "chai";
import { SHORT_CODE } from "../../../deploy/dev/demo-answer.ts";
import { ConsentService } from "../../../proto/gen/sms/v1/consent_pb.js";
import { ConnectorType, RoutingService } from "../../../proto/gen/sms/v1/routing_pb.js";
import {
  createGrpcJsTransport,
  type RpcTransport,
} from "../../../services/shared/rpc/transport.ts";
import { eventually } from "../../support/poll.ts";
import { callRest } from "../../support/rest.ts";
import { openSimulatorControl, type SimulatorControl } from "../../support/simulator-control.ts";
import { smsctl } from "../../support/smsctl.ts";
import { startTestStack, type TestStack } from "../../support/stack.ts";

type Shown = { id: string; body: string; from: string; complete: boolean; parts: number };

describe("callbacks of HTTP carriers with messages from handsets", function () {
  this.timeout(60_000);
  let stack: TestStack;
  let transport: RpcTransport;
  let consent: Client<typeof ConsentService>;
  let simulator: SimulatorControl;
  /** With the carrier's ids, and without. */
  let urls: { named: string; plain: string };

  before(async function () {
    this.timeout(120_000);
    stack = await startTestStack({ settings: { INBOUND_PARTS_WAIT_MS: "2000" } });
    const { grpc, grpc_token: token } = stack;
    transport = createGrpcJsTransport({ target: grpc.consent ?? "", token });
    consent = createClient(ConsentService, transport);
    const toRouting = createGrpcJsTransport({ target: grpc.routing ?? "", token });
    simulator = await openSimulatorControl(stack);
    await simulator.behave({ receipts: { resend_ms: 100 } });
    const routing = createClient(RoutingService, toRouting);
    const http = { url: "http://127.0.0.1:9/send", receiptSecret: "a-secret-of-the-carrier" };
    const parts = {
      inboundReferencePointer: "/reference",
      inboundTotalPointer: "/parts",
      inboundSequencePointer: "/part",
    };
    for (const [id, more] of [
      ["named", { inboundIdPointer: "/id" }],
      ["plain", {}],
    ] as const) {
      const connector = { id, type: ConnectorType.HTTP, http: { ...http, ...parts, ...more } };
      await routing.createConnector({ connector });
    }
    toRouting.close();
    urls = await eventually(
      async () => {
        const found = await smsctl(
          stack,
          "connector",
          "inbound-urls",
          "--ops",
          stack.ops.carrier ?? "",
        );
        const list = (found.value ?? []) as { connector: string; url: string }[];
        const urlOf = (id: string) => list.find(({ connector }) => connector === id)?.url;
        const [named, plain] = [urlOf("named"), urlOf("plain")];
        return named !== undefined && plain !== undefined && { named, plain };
      },
      { what: "the addresses of the callbacks", timeoutMs: 10_000 },
    );
  });
  after(async () => {
    transport?.close();
    await stack?.stop();
  });

  async function write(source: string, text: string, more: object): Promise<void> {
    const response = await fetch(new URL("/mo", stack.smsc.control), {
      method: "POST",
      body: JSON.stringify({ source, destination: SHORT_CODE, text, ...more }),
    });
    expect(response.ok, await response.text()).to.equal(true);
  }

  const post = async (url: string, body: object) =>
    (await fetch(url, { method: "POST", body: JSON.stringify(body) })).status;

  async function shown(from: string): Promise<Shown[]> {
    const path = `/v1/inbound-messages?limit=100&from=${encodeURIComponent(from)}`;
    const answer = await callRest(stack.gateway, "GET", path, { apiKey: stack.api_key });
    return answer.body.data;
  }

  const received = (from: string, count: number) =>
    eventually(
      async () => {
        const found = await shown(from);
        return found.length === count && found;
      },
      { what: `${count} messages of ${from}`, timeoutMs: 15_000 },
    );

  it("are stored before their response, in every alphabet", async () => {
    const from = "+2348031800001";
    for (const text of ["Hello", "Привет 😀", "Grüße"]) {
      expect(await post(urls.plain, { from, to: SHORT_CODE, text })).to.equal(200);
    }
    const bodies = (await shown(from)).map(({ body }) => body);
    expect(bodies).to.have.members(["Hello", "Привет 😀", "Grüße"]);
  });

  it("with the carrier's id are stored once for it, also when they come again later", async () => {
    const from = "+2348031800002";
    const yes = { from, to: SHORT_CODE, text: "Yes", id: "c-1" };
    for (let at = 0; at < 3; at += 1) expect(await post(urls.named, yes)).to.equal(200);
    expect(await post(urls.named, { ...yes, id: "c-2" })).to.equal(200);
    // The carrier's ids begin again.
    expect(await post(urls.named, { ...yes, text: "No" })).to.equal(200);
    await eventually(async () => (await shown(from)).length >= 3);
    const bodies = (await shown(from)).map(({ body }) => body);
    expect(bodies.sort()).to.deep.equal(["No", "Yes", "Yes"]);
  });

  it("without an id are a repeat until the first one is confirmed", async () => {
    const from = "+2348031800003";
    const yes = { from, to: SHORT_CODE, text: "Yes" };
    expect(await Promise.all([post(urls.plain, yes), post(urls.plain, yes)])).to.deep.equal([
      ...[200, 200],
    ]);
    await received(from, 1);
    await eventually(
      async () => (await post(urls.plain, yes)) === 200 && (await shown(from)).length === 2,
      { what: "the same words as a new message", everyMs: 200 },
    );
  });

  it("come in parts: late, doubled, and missing for ever", async () => {
    const whole = "0123456789".repeat(40);
    await write("+2348031800004", whole, { url: urls.named, parts: [3, 1, 1, 2] });
    const [message] = await received("+2348031800004", 1);
    expect(message).to.include({ body: whole, complete: true, parts: 3 });
    await write("+2348031800005", whole, { url: urls.named, parts: [3, 1] });
    const [rest] = await received("+2348031800005", 1);
    expect(rest).to.include({ complete: false, parts: 3 });
    expect(rest?.body).to.equal(whole.slice(0, 153) + whole.slice(306));
  });

  it("opt a number out within two seconds", async () => {
    const from = "+2348031800006";
    const bulk = async () => {
      const body = { to: [from, "+2348039999999"], from: stack.sender_id, body: "Hello" };
      const answer = await callRest(stack.gateway, "POST", "/v1/sms/messages/bulk", {
        ...{ apiKey: stack.api_key, body },
      });
      return answer.body.data.messages[0].error?.code ?? answer.body.data.messages[0].status;
    };
    expect(await bulk()).to.equal("queued");
    await write(from, " stop ", { url: urls.named });
    await eventually(async () => (await bulk()) === "recipient_opted_out", {
      ...{ what: "the opt-out", timeoutMs: 2000 },
    });
  });

  it("are refused while nothing can be stored, and all come again", async () => {
    await stack.kill("consent");
    const answer = await post(urls.plain, {
      ...{ from: "+2348031800007", to: SHORT_CODE, text: "Lost?" },
    });
    expect(answer).to.equal(503);
    const burst = { url: urls.named, count: 200, handsets: 1, rate_per_second: 400 };
    await write("+2348031800008", "Burst {n}", burst);
    await stack.restart("consent");
    await eventually(async () => (await countOf("Burst")) === 200, {
      ...{ what: "the whole burst", timeoutMs: 30_000, everyMs: 500 },
    });
  });

  async function countOf(word: string): Promise<number> {
    const bodies = new Set<string>();
    let beforeId = "";
    for (;;) {
      const page = await consent.listInboundMessages({
        ...{ tenantId: stack.tenant_id, limit: 100, beforeId },
      });
      for (const { body } of page.messages) if (body.startsWith(word)) bodies.add(body);
      beforeId = page.messages.at(-1)?.id ?? "";
      if (!page.hasMore) return bodies.size;
    }
  }
});
