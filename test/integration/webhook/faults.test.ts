import { createServer, type Server } from "node:net";
import { expect } from "chai";
import { type Delivery, DeliveryStatus } from "../../../proto/gen/sms/v1/webhook_pb.js";
import { newId } from "../../../services/shared/core/ids.ts";
import { useClosers } from "../../support/closers.ts";
import { eventually } from "../../support/poll.ts";
import { startServers, type TestServers } from "../../support/servers.ts";
import {
  messageEvent,
  openWebhooks,
  testCertificates,
  type WebhookHarness,
} from "../../support/webhook-harness.ts";
import {
  accept,
  answer,
  type Behaviour,
  type Receiver,
  startReceiver,
} from "../../support/webhook-receiver.ts";

const TIMEOUT_MS = 700;
/** A busy machine may read the clock this much later. */
const LATE_MS = 5000;

describe("faulty webhook receivers", () => {
  const certificates = testCertificates();
  const strangers = testCertificates();
  const keep = useClosers();
  let servers: TestServers;
  let receiver: Receiver;
  let stranger: Receiver;
  let mute: Server;
  let webhooks: WebhookHarness;

  before(async () => {
    servers = keep(await startServers(), (opened) => opened.stop());
    receiver = keep(await startReceiver(certificates), (opened) => opened.close());
    stranger = keep(await startReceiver(strangers), (opened) => opened.close());
    mute = keep(
      createServer(() => undefined),
      (opened) => opened.close(),
    );
    await new Promise<void>((resolve) => mute.listen(0, "127.0.0.1", resolve));
    webhooks = await openWebhooks(servers, {
      ports: [receiver.port, stranger.port, mutePort(), 1],
      caFile: certificates.caFile,
      settings: { WEBHOOK_RETRY_DELAYS_MS: "60000", WEBHOOK_TIMEOUT_MS: String(TIMEOUT_MS) },
    });
    keep(webhooks, (opened) => opened.close());
  });

  const mutePort = () => (mute.address() as { port: number }).port;

  /** Sends one event to a URL and returns the delivery once its first attempt is logged. */
  async function firstAttempt(url: string): Promise<Delivery> {
    const tenantId = newId("tenant");
    const { endpoint } = await webhooks.client.createEndpoint({ tenantId, url });
    const endpointId = endpoint?.id ?? "";
    await webhooks.publish([messageEvent(tenantId)]);
    return eventually(async () => {
      const { deliveries } = await webhooks.client.listDeliveries({ tenantId, endpointId });
      return deliveries.find(({ attempts }) => attempts.length > 0);
    });
  }

  const drip =
    (status: number): Behaviour =>
    (response) => {
      response.writeHead(status);
      const timer = setInterval(() => response.write("."), 50);
      response.once("close", () => clearInterval(timer));
    };
  const half =
    (status: number): Behaviour =>
    (response) => {
      response.writeHead(status, { "content-length": "100" });
      response.write("half");
      setImmediate(() => response.socket?.destroy());
    };
  const huge: Behaviour = (response) => {
    response.writeHead(200);
    const more = () => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536, "x")));
    };
    response.on("drain", more);
    more();
  };
  const processing: Behaviour = (response) => {
    const timer = setInterval(() => response.writeProcessing(), 50);
    response.once("close", () => clearInterval(timer));
  };

  const CASES: readonly {
    readonly name: string;
    readonly behaviour: Behaviour;
    readonly error: string;
    readonly status: number;
  }[] = [
    { name: "200", behaviour: answer(200, "ok"), error: "", status: 200 },
    { name: "299", behaviour: answer(299), error: "", status: 299 },
    {
      name: "an endless 2xx body, of which little is read",
      behaviour: huge,
      error: "",
      status: 200,
    },
    { name: "300", behaviour: answer(300), error: "redirect", status: 300 },
    {
      name: "a redirect, which is not followed",
      behaviour: (response) => void response.writeHead(307, { location: "/other" }).end(),
      error: "redirect",
      status: 307,
    },
    { name: "400", behaviour: answer(400), error: "status", status: 400 },
    { name: "429", behaviour: answer(429), error: "status", status: 429 },
    { name: "503", behaviour: answer(503), error: "status", status: 503 },
    { name: "no answer", behaviour: () => undefined, error: "timeout", status: 0 },
    { name: "a 2xx body that drips for ever", behaviour: drip(200), error: "", status: 200 },
    { name: "a 5xx body that drips for ever", behaviour: drip(500), error: "timeout", status: 500 },
    { name: "102 for ever", behaviour: processing, error: "timeout", status: 0 },
    {
      name: "a connection cut",
      behaviour: (response) => void response.socket?.destroy(),
      error: "connection",
      status: 0,
    },
    {
      name: "something that is not HTTP",
      behaviour: (response) => void response.socket?.end("hello\r\n\r\n"),
      error: "connection",
      status: 0,
    },
    { name: "a 2xx head and half a body", behaviour: half(200), error: "", status: 200 },
    { name: "a 5xx head and half a body", behaviour: half(500), error: "connection", status: 500 },
  ];

  for (const { name, behaviour, error, status } of CASES) {
    it(`${name}: ${error === "" ? "is a success" : `fails as ${error}`}`, async () => {
      receiver.behave(behaviour);
      const delivery = await firstAttempt(receiver.url());
      const [attempt] = delivery.attempts;
      expect(attempt).to.include({ error, httpStatus: status, number: 1 });
      expect(delivery.status).to.equal(
        error === "" ? DeliveryStatus.SUCCEEDED : DeliveryStatus.PENDING,
      );
      if (error === "timeout") {
        expect(attempt?.durationMs).to.be.within(TIMEOUT_MS - 5, TIMEOUT_MS + LATE_MS);
      }
      receiver.behave(accept);
    });
  }

  it("the target of a redirect is never requested", () =>
    expect(receiver.at("/other")).to.deep.equal([]));

  it("the log keeps at most the first kilobyte of a response, as text", async () => {
    receiver.behave((response) => {
      response.writeHead(500).end(Buffer.concat([Buffer.of(0xff), Buffer.alloc(5000, "é")]));
    });
    const { attempts } = await firstAttempt(receiver.url());
    expect(attempts[0]?.answer.startsWith("\ufffdéé")).to.equal(true);
    expect(attempts[0]?.answer.length).to.be.within(500, 1024);
    receiver.behave(accept);
  });

  it("a certificate of an unknown authority fails as tls, and nothing is sent", async () => {
    const { attempts } = await firstAttempt(stranger.url());
    expect(attempts[0]?.error).to.equal("tls");
    expect(stranger.received).to.deep.equal([]);
  });

  it("a closed port fails as connection", async () => {
    const { attempts } = await firstAttempt("https://localhost:1/");
    expect(attempts[0]?.error).to.equal("connection");
  });

  it("a server that accepts the connection and sends nothing fails as timeout", async () => {
    const { attempts } = await firstAttempt(`https://localhost:${mutePort()}/`);
    expect(attempts[0]?.error).to.equal("timeout");
    expect(attempts[0]?.durationMs).to.be.within(TIMEOUT_MS - 5, TIMEOUT_MS + LATE_MS);
  });

  it("a used connection that ends without a response is a failed attempt", async () => {
    const tenantId = newId("tenant");
    const url = receiver.url("/closing");
    const { endpoint } = await webhooks.client.createEndpoint({ tenantId, url });
    const endpointId = endpoint?.id ?? "";
    const tries = async () => {
      const { deliveries } = await webhooks.client.listDeliveries({ tenantId, endpointId });
      return deliveries.map(
        ({ status, attempts }) => [status, attempts.map(({ error }) => error)] as const,
      );
    };
    await webhooks.publish([messageEvent(tenantId)]);
    await eventually(async () => (await tries())[0]?.[0] === DeliveryStatus.SUCCEEDED);
    const answeredMs = performance.now();
    await eventually(() => performance.now() - answeredMs > 60);
    let requests = 0;
    receiver.behave((response) => {
      requests += 1;
      response.socket?.destroy();
    });
    await webhooks.publish([messageEvent(tenantId)]);
    const failed = await eventually(async () =>
      (await tries()).find(
        ([status, errors]) => status === DeliveryStatus.PENDING && errors.length > 0,
      ),
    );
    expect(failed[1]).to.deep.equal(["connection"]);
    // The next attempt is due in a minute: nothing has left again.
    expect(requests).to.equal(1);
    receiver.behave(accept);
  });

  it("a receiver that closes after each response without saying so gets no request twice", async () => {
    const tenantId = newId("tenant");
    const url = receiver.url("/closing-each");
    const { endpoint } = await webhooks.client.createEndpoint({ tenantId, url });
    const endpointId = endpoint?.id ?? "";
    receiver.behave((response) => {
      const { socket } = response;
      response.writeHead(204).end(() => socket?.end());
    });
    const COUNT = 60;
    await webhooks.publish(Array.from({ length: COUNT }, () => messageEvent(tenantId)));
    await eventually(async () => {
      const page = await webhooks.client.listDeliveries({ tenantId, endpointId, limit: COUNT });
      const isAttempted = page.deliveries.every(({ attempts }) => attempts.length === 1);
      return isAttempted && page.deliveries.length === COUNT;
    });
    const ids = receiver.at("/closing-each").map(({ headers }) => headers["x-service-delivery-id"]);
    expect(new Set(ids).size).to.equal(ids.length);
    receiver.behave(accept);
  });

  it("connections are kept and reused", async () => {
    const tenantId = newId("tenant");
    await webhooks.client.createEndpoint({ tenantId, url: receiver.url("/reuse") });
    await webhooks.publish([messageEvent(tenantId)]);
    await eventually(() => receiver.at("/reuse").length === 1);
    const before = receiver.connections;
    for (let count = 2; count <= 20; count += 1) {
      await webhooks.publish([messageEvent(tenantId)]);
      await eventually(() => receiver.at("/reuse").length === count);
    }
    expect(receiver.connections).to.equal(before);
  });
});
