/** Disabling and deleting an endpoint end its attempts at once. */
import type { ServerResponse } from "node:http";
import { expect } from "chai";
import { DeliveryStatus, WebhookEndpointStatus } from "../../../proto/gen/sms/v1/webhook_pb.js";
import { newId } from "../../../services/shared/core/ids.ts";
import { createStopPublisher } from "../../../services/webhook/adapters/notifications.ts";
import { useClosers } from "../../support/closers.ts";
import { openGate } from "../../support/held-connections.ts";
import { eventually } from "../../support/poll.ts";
import { startServers, type TestServers } from "../../support/servers.ts";
import {
  messageEvent,
  openWebhooks,
  testCertificates,
  type WebhookHarness,
} from "../../support/webhook-harness.ts";
import { accept, type Receiver, startReceiver } from "../../support/webhook-receiver.ts";

const { DISABLED, ENABLED } = WebhookEndpointStatus;

describe("disabling a webhook endpoint during an attempt", () => {
  const certificates = testCertificates();
  const keep = useClosers();
  let servers: TestServers;
  let receiver: Receiver;
  let gate: Awaited<ReturnType<typeof openGate>>;
  let webhooks: WebhookHarness;
  let neighbour: WebhookHarness;

  before(async () => {
    servers = keep(await startServers(), (opened) => opened.stop());
    receiver = keep(await startReceiver(certificates), (opened) => opened.close());
    gate = keep(await openGate(receiver.port), (opened) => opened.close());
    const options = {
      ports: [receiver.port, gate.port],
      caFile: certificates.caFile,
      settings: { WEBHOOK_RETRY_DELAYS_MS: "60000", WEBHOOK_TIMEOUT_MS: "8000" },
    };
    webhooks = await openWebhooks(servers, options);
    neighbour = await openWebhooks(servers, { ...options, prefix: webhooks.prefix });
    // Both services end before the first of them drops their database.
    keep(neighbour, (opened) => opened.close());
    keep(webhooks, (opened) => opened.close());
    keep(neighbour, (opened) => opened.stop());
  });
  beforeEach(() => receiver.behave(accept));

  /** An endpoint behind the proxy, with a held connection for its first event. */
  async function connecting(path: string) {
    const tenantId = newId("tenant");
    const url = `https://localhost:${gate.port}${path}`;
    const { endpoint } = await webhooks.client.createEndpoint({ tenantId, url });
    const key = { tenantId, endpointId: endpoint?.id ?? "" };
    await webhooks.publish([messageEvent(tenantId)]);
    await eventually(() => gate.held.length > 0);
    return key;
  }

  const dropped = ({ endpointId }: { endpointId: string }) =>
    eventually(async () => {
      const deliveries = webhooks.mongo.db.collection("deliveries");
      return (await deliveries.findOne({ endpoint_id: endpointId, status: "dropped" })) ?? false;
    });

  /** Lets held connections through, then a request of another endpoint. */
  async function openTheGate(): Promise<void> {
    gate.letThrough();
    const path = `/fence/${newId("event")}`;
    const tenantId = newId("tenant");
    await webhooks.client.createEndpoint({ tenantId, url: receiver.url(path) });
    await webhooks.publish([messageEvent(tenantId)]);
    await eventually(() => receiver.at(path).length === 1);
  }

  // Either replica may hold the connection: the call must stop both.
  for (const [name, replica] of [
    ["this replica", () => webhooks],
    ["another replica", () => neighbour],
  ] as const) {
    it(`ends a connecting request when disabled at ${name}`, async () => {
      const path = `/disabled/${name.length}`;
      const key = await connecting(path);
      await replica().client.updateEndpoint({ ...key, status: DISABLED });
      expect((await dropped(key)).attempts).to.deep.equal([]);
      await openTheGate();
      expect(receiver.at(path)).to.deep.equal([]);
      await replica().client.updateEndpoint({ ...key, status: ENABLED });
      await openTheGate();
      expect(receiver.at(path)).to.deep.equal([]);
    });

    it(`ends a connecting request when deleted at ${name}`, async () => {
      const path = `/deleted/${name.length}`;
      const key = await connecting(path);
      await replica().client.deleteEndpoint(key);
      await dropped(key);
      await openTheGate();
      expect(receiver.at(path)).to.deep.equal([]);
    });
  }

  /** A delivery whose endpoint has received its request and responds 500 after `meanwhile`. */
  async function answeredLate(
    path: string,
    meanwhile: (key: { tenantId: string; endpointId: string }) => Promise<unknown>,
  ) {
    const tenantId = newId("tenant");
    const { endpoint } = await webhooks.client.createEndpoint({
      tenantId,
      url: receiver.url(path),
    });
    const key = { tenantId, endpointId: endpoint?.id ?? "" };
    const waiting: ServerResponse[] = [];
    receiver.behave((response) => void waiting.push(response));
    await webhooks.publish([messageEvent(tenantId)]);
    await eventually(() => waiting.length === 1);
    await meanwhile(key);
    for (const response of waiting) response.writeHead(500).end();
    return eventually(async () => {
      const { deliveries } = await webhooks.client.listDeliveries(key);
      return deliveries.find(({ attempts }) => attempts.length === 1);
    });
  }

  it("leaves no retry after a failure that ends later", async () => {
    const delivery = await answeredLate("/answered-late", (key) =>
      webhooks.client.updateEndpoint({ ...key, status: DISABLED }),
    );
    expect(delivery.status).to.equal(DeliveryStatus.DROPPED);
    expect(delivery.nextAttemptAtMs).to.equal(0n);
  });

  describe("a late stop message for an endpoint that is enabled again", () => {
    /** Publishes the stop of an endpoint, and waits until it was received. */
    async function sayStopped(endpointId: string): Promise<void> {
      const { connection } = webhooks.nats;
      createStopPublisher(connection).publish(endpointId);
      await connection.flush();
    }

    it("delays a connecting request, which is sent once as the first attempt", async () => {
      const path = "/late-word";
      const { endpointId } = await connecting(path);
      const [stopped] = gate.held;
      await sayStopped(endpointId);
      // The held connection is closed, and a new one made for the same attempt.
      await eventually(() => stopped?.destroyed === true || gate.held.length > 1);
      await openTheGate();
      await eventually(() => {
        gate.letThrough();
        return receiver.at(path).length > 0;
      });
      const deliveries = webhooks.mongo.db.collection("deliveries");
      const delivery = await eventually(async () => {
        const found = await deliveries.findOne({ endpoint_id: endpointId, status: "succeeded" });
        return found ?? false;
      });
      expect(delivery.attempts).to.have.length(1);
      expect(receiver.at(path)).to.have.length(1);
      expect(receiver.at(path)[0]?.headers["x-service-delivery-attempt"]).to.equal("1");
    });

    it("leaves the retry of a failure", async () => {
      const delivery = await answeredLate("/late-word-failure", ({ endpointId }) =>
        sayStopped(endpointId),
      );
      expect(delivery.status).to.equal(DeliveryStatus.PENDING);
      expect(delivery.nextAttemptAtMs > 0n).to.equal(true);
    });
  });
});
