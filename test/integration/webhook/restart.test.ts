/** A restart releases the leases of a killed webhook process before they end. */
import type { ServerResponse } from "node:http";
import { expect } from "chai";
import { newId } from "../../../services/shared/core/ids.ts";
import { useClosers } from "../../support/closers.ts";
import { freshDatabase } from "../../support/fresh-names.ts";
import { eventually } from "../../support/poll.ts";
import { startServers, type TestServers } from "../../support/servers.ts";
import {
  messageEvent,
  openWebhookStores,
  publishEvents,
  testCertificates,
  webhookSettings,
} from "../../support/webhook-harness.ts";
import { startWebhookProcess, type WebhookProcess } from "../../support/webhook-process.ts";
import { accept, type Receiver, startReceiver } from "../../support/webhook-receiver.ts";

/** The default timeout makes leases of 24 seconds; the restart is much faster. */
const SOON_MS = 12_000;

describe("a webhook process that is killed and started again", function () {
  this.timeout(60_000);
  const certificates = testCertificates();
  const keep = useClosers();
  let servers: TestServers;
  let stores: Awaited<ReturnType<typeof openWebhookStores>>;
  let receiver: Receiver;
  let webhook: WebhookProcess;

  before(async () => {
    servers = keep(await startServers(), (opened) => opened.stop());
    const prefix = freshDatabase("webhook");
    stores = keep(await openWebhookStores(servers, prefix), (opened) => opened.close());
    receiver = keep(await startReceiver(certificates), (opened) => opened.close());
    webhook = await startWebhookProcess(
      webhookSettings(servers, prefix, [receiver.port], certificates.caFile),
    );
    keep(webhook, (opened) => opened.stop());
  });

  /** Later retries and finished deliveries, which a start must not read. */
  async function fillTheLog(count: number): Promise<void> {
    const at = new Date(Date.now() + 3_600_000);
    const made = Array.from({ length: count }, (_, index) => ({
      _id: newId("webhookDelivery"),
      tenant_id: "ten_other",
      endpoint_id: `whe_${index % 20}`,
      event_id: newId("event"),
      event_type: "message.status_changed",
      ...(index % 2 === 0
        ? { status: "pending", next_attempt_at: at }
        : { status: "succeeded", completed_at: new Date() }),
      attempts: [],
      attempts_left: 1,
      expires_at: at,
    }));
    await stores.mongo.db.collection("deliveries").insertMany(made as never);
  }

  it("repeats running attempts at once, and reads no other deliveries", async () => {
    await fillTheLog(2000);
    const tenantId = newId("tenant");
    await webhook.client.createEndpoint({ tenantId, url: receiver.url("/killed") });
    const hanging: ServerResponse[] = [];
    receiver.behave((response) => void hanging.push(response));
    await publishEvents(stores.nats, [messageEvent(tenantId)]);
    await eventually(() => hanging.length === 1);
    await webhook.kill();
    receiver.behave(accept);
    await stores.mongo.db.command({ profile: 2 });
    await webhook.start();
    await eventually(() => receiver.at("/killed").length === 2, { timeoutMs: SOON_MS });
    await stores.mongo.db.command({ profile: 0 });
    const [first, second] = receiver.at("/killed");
    for (const header of ["x-service-delivery-id", "x-service-delivery-attempt"]) {
      expect(second?.headers[header]).to.equal(first?.headers[header]);
    }
    const releases = await stores.mongo.db
      .collection("system.profile")
      .find({ op: "update", "command.q.lease_owner": { $exists: true } })
      .toArray();
    expect(releases.length).to.equal(1);
    expect(releases[0]).to.include({ docsExamined: 1 });
    expect(releases[0]?.keysExamined).to.be.below(100);
  });
});
