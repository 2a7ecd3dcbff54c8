import { expect } from "chai";
import { DeliveryStatus } from "../../../proto/gen/sms/v1/webhook_pb.js";
import { newId } from "../../../services/shared/core/ids.ts";
import { toAppError } from "../../../services/shared/rpc/error-status.ts";
import { useClosers } from "../../support/closers.ts";
import { eventually } from "../../support/poll.ts";
import { startServers, type TestServers } from "../../support/servers.ts";
import {
  messageEvent,
  openWebhooks,
  testCertificates,
  type WebhookHarness,
} from "../../support/webhook-harness.ts";
import { accept, answer, type Receiver, startReceiver } from "../../support/webhook-receiver.ts";

describe("webhook replicas", () => {
  const certificates = testCertificates();
  const keep = useClosers();
  let servers: TestServers;
  let receiver: Receiver;
  const open: WebhookHarness[] = [];

  before(async () => {
    servers = keep(await startServers(), (opened) => opened.stop());
    receiver = keep(await startReceiver(certificates), (opened) => opened.close());
  });
  beforeEach(() => receiver.behave(accept));
  afterEach(async () => {
    for (const replica of open) await replica.stop();
    for (const replica of open.splice(0)) await replica.close();
  });

  async function openReplica(
    settings: Readonly<Record<string, string>> = {},
    prefix?: string,
  ): Promise<WebhookHarness> {
    const ports = [receiver.port];
    const { caFile } = certificates;
    const base = { ports, caFile, settings };
    const replica = await openWebhooks(servers, prefix === undefined ? base : { ...base, prefix });
    open.push(replica);
    return replica;
  }

  async function addEndpoint({ client }: WebhookHarness, path: string) {
    const tenantId = newId("tenant");
    const { endpoint } = await client.createEndpoint({ tenantId, url: receiver.url(path) });
    return { tenantId, endpointId: endpoint?.id ?? "" };
  }

  it("share the work, and each event reaches its endpoint exactly once", async () => {
    const settings = { WEBHOOK_EVENT_BATCH_MAX: "20", WEBHOOK_POLL_INTERVAL_MS: "20" };
    const first = await openReplica(settings);
    const second = await openReplica(settings, first.prefix);
    const key = await addEndpoint(first, "/shared");
    const events = Array.from({ length: 400 }, () => messageEvent(key.tenantId));
    for (let at = 0; at < events.length; at += 40) await first.publish(events.slice(at, at + 40));
    await eventually(() => receiver.at("/shared").length >= events.length);
    const ids = receiver.at("/shared").map(({ headers }) => headers["x-service-event-id"]);
    expect(new Set(ids).size).to.equal(events.length);
    expect(ids.length).to.equal(events.length);
    const ended = await Promise.all([first, second].map(countEnded));
    expect(ended.reduce((sum, count) => sum + count)).to.equal(events.length);
    expect(Math.min(...ended), `${ended}`).to.be.at.least(1);
  });

  /** Deliveries that a replica has ended. */
  async function countEnded({ metrics }: WebhookHarness): Promise<number> {
    const text = await metrics.metrics();
    const found = /^webhook_deliveries_final_total\{status="succeeded"\} (\d+)$/m.exec(text);
    return Number(found?.[1] ?? 0);
  }

  it("release unstarted deliveries at a stop, and another replica continues at once", async () => {
    const settings = { WEBHOOK_ENDPOINT_CONCURRENCY: "1" };
    const first = await openReplica(settings);
    const key = await addEndpoint(first, "/handover");
    const held = Promise.withResolvers<void>();
    let count = 0;
    receiver.behave((response) => {
      const accepted = () => void response.writeHead(204).end();
      count += 1;
      if (count === 1) void held.promise.then(accepted);
      else setTimeout(accepted, 500);
    });
    await first.publish(Array.from({ length: 10 }, () => messageEvent(key.tenantId)));
    await eventually(async () => {
      const { deliveries } = await first.client.listDeliveries(key);
      return deliveries.length === 10 && receiver.at("/handover").length === 1;
    });
    const stopped = first.stop();
    held.resolve();
    await stopped;
    receiver.behave(accept);
    const sentBefore = receiver.at("/handover").length;
    expect(sentBefore).to.be.below(10);
    await openReplica(settings, first.prefix);
    // Far less than the lease, which would end after 24 seconds.
    await eventually(() => receiver.at("/handover").length === 10, { timeoutMs: 20_000 });
    const ids = receiver.at("/handover").map(({ headers }) => headers["x-service-delivery-id"]);
    expect(new Set(ids).size).to.equal(10);
  });

  it("never exceed the concurrency limit of an endpoint, even with a backlog", async () => {
    const replica = await openReplica({ WEBHOOK_ENDPOINT_CONCURRENCY: "3" });
    const key = await addEndpoint(replica, "/capped");
    const started = receiver.received.length;
    let now = 0;
    let most = 0;
    receiver.behave((response) => {
      now += 1;
      most = Math.max(most, now);
      setTimeout(() => {
        now -= 1;
        response.writeHead(204).end();
      }, 30);
    });
    await replica.publish(Array.from({ length: 60 }, () => messageEvent(key.tenantId)));
    await eventually(() => receiver.received.length - started >= 60);
    expect(most).to.be.within(1, 3);
  });

  it("remove bodies and responses after success when redaction is on, and not before", async () => {
    const replica = await openReplica({
      WEBHOOK_REDACT_DELIVERED: "true",
      WEBHOOK_RETRY_DELAYS_MS: "200",
    });
    const key = await addEndpoint(replica, "/redacted");
    const deliveries = replica.mongo.db.collection("deliveries");
    receiver.behave(answer(500, "secret words"));
    await replica.publish([messageEvent(key.tenantId)]);
    await eventually(async () => (await deliveries.findOne({}))?.attempts.length === 1);
    expect((await deliveries.findOne({}))?.body).to.be.a("string");
    receiver.behave(answer(200, "secret words"));
    const delivery = await eventually(async () => {
      const page = await replica.client.listDeliveries(key);
      return page.deliveries.find(({ status }) => status === DeliveryStatus.SUCCEEDED);
    });
    expect(await deliveries.findOne({})).to.not.have.property("body");
    expect(delivery.attempts.at(-1)?.answer).to.equal("");
    const error = await replica.client.resendDelivery({ ...key, deliveryId: delivery.id }).then(
      () => undefined,
      (thrown) => toAppError(thrown),
    );
    expect(error?.code).to.equal("invalid_state_transition");
  });
});
