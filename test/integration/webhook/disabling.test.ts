import { toBinary } from "@bufbuild/protobuf";
import { expect } from "chai";
import { EventSchema } from "../../../proto/gen/sms/v1/events_pb.js";
import { MessageSource } from "../../../proto/gen/sms/v1/messaging_pb.js";
import {
  type Delivery,
  DeliveryStatus,
  WebhookEndpointStatus,
} from "../../../proto/gen/sms/v1/webhook_pb.js";
import { newId } from "../../../services/shared/core/ids.ts";
import { toAppError } from "../../../services/shared/rpc/error-status.ts";
import type {
  DeliveryDocument,
  EndpointDocument,
} from "../../../services/webhook/store/documents.ts";
import { eventually } from "../../support/poll.ts";
import {
  messageEvent,
  openWebhooksAndReceiver,
  type WebhookHarness,
} from "../../support/webhook-harness.ts";
import { accept, answer, type Receiver } from "../../support/webhook-receiver.ts";

const { ENABLED, DISABLED } = WebhookEndpointStatus;

describe("the events of a webhook endpoint", () => {
  let receiver: Receiver;
  let webhooks: WebhookHarness;
  let close: (() => Promise<void>) | undefined;

  before(async () => {
    ({ receiver, webhooks, close } = await openWebhooksAndReceiver({
      WEBHOOK_RETRY_DELAYS_MS: "400,400",
      WEBHOOK_TIMEOUT_MS: "1000",
      WEBHOOK_DISABLE_AFTER_MS: "1500",
    }));
  });
  after(() => close?.());
  beforeEach(() => receiver.behave(accept));

  async function addEndpoint(path: string, eventTypes: string[] = [], sources: number[] = []) {
    const tenantId = newId("tenant");
    const { endpoint } = await webhooks.client.createEndpoint({
      tenantId,
      url: receiver.url(path),
      eventTypes,
      sources,
    });
    return { tenantId, endpointId: endpoint?.id ?? "" };
  }
  type Key = Awaited<ReturnType<typeof addEndpoint>>;

  const deliveriesOf = async (key: Key): Promise<Delivery[]> =>
    (await webhooks.client.listDeliveries({ ...key, limit: 100 })).deliveries;

  const waitFor = (key: Key, status: DeliveryStatus, count = 1) =>
    eventually(async () => {
      const found = (await deliveriesOf(key)).filter((delivery) => delivery.status === status);
      return found.length >= count && found;
    });

  /** An event sent afterwards to another endpoint proves that the earlier ones were handled. */
  async function handled(): Promise<void> {
    const path = `/fence/${newId("event")}`;
    const { tenantId } = await addEndpoint(path);
    await webhooks.publish([messageEvent(tenantId)]);
    await eventually(() => receiver.at(path).length > 0);
  }

  it("both events of a status change reach an endpoint subscribed to both, under two ids", async () => {
    const key = await addEndpoint("/both", ["message.status_changed", "message.delivered"]);
    await webhooks.publish([messageEvent(key.tenantId)]);
    await eventually(() => receiver.at("/both").length === 2);
    const bodies = receiver.at("/both").map(({ body }) => JSON.parse(body.toString()));
    expect(bodies.map(({ type }) => type).sort()).to.deep.equal([
      "message.delivered",
      "message.status_changed",
    ]);
    expect(new Set(bodies.map(({ id }) => id)).size).to.equal(2);
    const typed = bodies.find(({ type }) => type === "message.delivered");
    expect(typed.data.object).to.include({ channel: "sms", held_amount: "4.5000" });
  });

  it("events of other sources are not sent when sources are chosen", async () => {
    const key = await addEndpoint("/sources", [], [MessageSource.API]);
    await webhooks.publish([
      messageEvent(key.tenantId, { source: MessageSource.CAMPAIGN }),
      messageEvent(key.tenantId, { source: MessageSource.API }),
    ]);
    await eventually(() => receiver.at("/sources").length > 0);
    await handled();
    expect((await deliveriesOf(key)).length).to.equal(1);
  });

  it("a redelivered event makes no second delivery and no second request", async () => {
    const key = await addEndpoint("/again");
    const event = messageEvent(key.tenantId);
    await webhooks.publish([event]);
    await waitFor(key, DeliveryStatus.SUCCEEDED);
    // With another message id the stream keeps the duplicate; the service must detect it.
    await webhooks.nats.jetstream.publish(
      `events.message.${key.tenantId}.test`,
      toBinary(EventSchema, event),
      { msgID: newId("event") },
    );
    await handled();
    expect(receiver.at("/again").length).to.equal(1);
    expect((await deliveriesOf(key)).length).to.equal(1);
  });

  it("disabling drops pending deliveries, and events of the disabled period are never sent", async () => {
    const key = await addEndpoint("/disabled");
    receiver.behave(answer(500));
    const before = Date.now();
    await webhooks.publish([messageEvent(key.tenantId)]);
    await eventually(() => receiver.at("/disabled").length === 1);
    await eventually(async () => ((await deliveriesOf(key))[0]?.attempts.length ?? 0) > 0);
    receiver.behave(accept);
    await webhooks.client.updateEndpoint({ ...key, status: DISABLED });
    await waitFor(key, DeliveryStatus.DROPPED);
    await webhooks.publish([messageEvent(key.tenantId)]);
    await handled();
    await webhooks.client.updateEndpoint({ ...key, status: ENABLED });
    // Events before and during the disabled period that arrive late.
    await webhooks.publish([
      messageEvent(key.tenantId, { occurredAtMs: before }),
      messageEvent(key.tenantId, { occurredAtMs: Date.now() - 200 }),
    ]);
    await webhooks.publish([messageEvent(key.tenantId, { occurredAtMs: Date.now() + 1 })]);
    await eventually(() => receiver.at("/disabled").length === 2);
    await handled();
    expect(receiver.at("/disabled").length).to.equal(2);
    expect((await deliveriesOf(key)).length).to.equal(2);
    // A receipt that its carrier backdates to the minute is recorded now.
    await webhooks.publish([
      messageEvent(key.tenantId, { id: newId("event"), occurredAtMs: before }),
    ]);
    await eventually(() => receiver.at("/disabled").length === 3);
  });

  it("a retry of an earlier enabled period is dropped when the endpoint is enabled again", async () => {
    const key = await addEndpoint("/earlier");
    receiver.behave(answer(500));
    await webhooks.publish([messageEvent(key.tenantId)]);
    await eventually(async () => ((await deliveriesOf(key))[0]?.attempts.length ?? 0) > 0);
    receiver.behave(accept);
    const endpoints = webhooks.mongo.db.collection<{ _id: string }>("endpoints");
    // As if the endpoint was disabled and enabled while the update that drops the rest was lost.
    await endpoints.updateOne({ _id: key.endpointId }, { $set: { enabled_at: new Date() } });
    await waitFor(key, DeliveryStatus.DROPPED);
    expect(receiver.at("/earlier").length).to.equal(1);
  });

  it("deleting an endpoint ends its deliveries", async () => {
    const key = await addEndpoint("/deleted");
    receiver.behave(answer(500));
    await webhooks.publish([messageEvent(key.tenantId)]);
    await eventually(() => receiver.at("/deleted").length === 1);
    await webhooks.client.deleteEndpoint(key);
    const deliveries = webhooks.mongo.db.collection<{ endpoint_id: string; status: string }>(
      "deliveries",
    );
    await eventually(async () => {
      const left = await deliveries.findOne({ endpoint_id: key.endpointId });
      return left?.status === "dropped";
    });
    expect(receiver.at("/deleted").length).to.equal(1);
  });

  it("410 is a failure like any other: the endpoint stays enabled, and the delivery is retried", async () => {
    const key = await addEndpoint("/gone");
    receiver.behave((response) => {
      receiver.behave(accept);
      response.writeHead(410).end();
    });
    await webhooks.publish([messageEvent(key.tenantId)]);
    await waitFor(key, DeliveryStatus.SUCCEEDED);
    expect(receiver.at("/gone").length).to.equal(2);
    expect((await webhooks.client.getEndpoint(key)).endpoint).to.include({ disabledReason: "" });
  });

  it("failures for the whole time disable an endpoint, after a warning, with alerts for both", async () => {
    const key = await addEndpoint("/dying");
    const kinds: string[] = [];
    const subscription = webhooks.nats.connection.subscribe("operator.webhook.*");
    void (async () => {
      for await (const message of subscription) {
        const alert = JSON.parse(message.string());
        if (alert.endpointId === key.endpointId) kinds.push(alert.kind);
      }
    })();
    await webhooks.nats.connection.flush();
    receiver.behave(answer(500));
    const endpoint = await eventually(
      async () => {
        await webhooks.publish([messageEvent(key.tenantId)]);
        const found = (await webhooks.client.getEndpoint(key)).endpoint;
        return found?.status === DISABLED && found;
      },
      { everyMs: 200 },
    );
    // The alert is published after the change is stored.
    await eventually(() => kinds.includes("endpoint_disabled"), { what: "the last alert" });
    subscription.unsubscribe();
    expect(endpoint.disabledReason).to.include("has failed since");
    expect(kinds).to.deep.equal(["endpoint_failing", "endpoint_disabled"]);
    await eventually(async () =>
      (await deliveriesOf(key)).every(({ status }) => status !== DeliveryStatus.PENDING),
    );
  });

  it("one success clears the failures", async () => {
    const key = await addEndpoint("/recovering");
    receiver.behave(answer(500));
    await webhooks.publish([messageEvent(key.tenantId)]);
    const failingSince = async () =>
      (await webhooks.client.getEndpoint(key)).endpoint?.failingSinceMs ?? 0n;
    await eventually(async () => (await failingSince()) > 0n);
    receiver.behave(accept);
    await waitFor(key, DeliveryStatus.SUCCEEDED);
    await eventually(async () => (await failingSince()) === 0n);
  });

  it("a finished delivery is resent once on request, under its own id", async () => {
    const key = await addEndpoint("/resent");
    await webhooks.publish([messageEvent(key.tenantId)]);
    const [delivery] = await waitFor(key, DeliveryStatus.SUCCEEDED);
    const wanted = { ...key, deliveryId: delivery?.id ?? "", idempotencyKey: "resend-1" };
    const fingerprint = new Uint8Array(32);
    const first = await webhooks.client.resendDelivery({ ...wanted, fingerprint });
    const second = await webhooks.client.resendDelivery({ ...wanted, fingerprint });
    expect([first.replayed, second.replayed]).to.deep.equal([false, true]);
    await eventually(() => receiver.at("/resent").length === 2);
    const [one, two] = receiver.at("/resent");
    expect(two?.headers["x-service-delivery-id"]).to.equal(one?.headers["x-service-delivery-id"]);
    expect(two?.headers["x-service-delivery-attempt"]).to.equal("2");
    expect(two?.body.equals(one?.body ?? Buffer.alloc(0))).to.equal(true);

    receiver.behave(answer(500));
    await webhooks.client.resendDelivery({ ...key, deliveryId: delivery?.id ?? "" });
    const after = await eventually(async () => {
      const [found] = await deliveriesOf(key);
      return found?.attempts.length === 3 && found;
    });
    expect(after.status).to.equal(DeliveryStatus.SUCCEEDED);
  });

  it("recovery makes deliveries that failed since an instant due, with a full schedule", async () => {
    const key = await addEndpoint("/recovered");
    receiver.behave(answer(500));
    await webhooks.publish([messageEvent(key.tenantId), messageEvent(key.tenantId)]);
    await waitFor(key, DeliveryStatus.FAILED, 2);
    const since = async (sinceMs: number) =>
      webhooks.client.recoverDeliveries({ ...key, sinceMs: BigInt(sinceMs) });
    expect((await since(Date.now() + 60_000)).recovered).to.equal(0n);
    receiver.behave(accept);
    const deliveries = webhooks.mongo.db.collection<DeliveryDocument>("deliveries");
    const soon = new Date(Date.now() + 120_000);
    const ofIt = { endpoint_id: key.endpointId };
    await deliveries.updateMany(ofIt, { $set: { expires_at: soon } });
    expect((await since(Date.now() - 60_000)).recovered).to.equal(2n);
    // Otherwise they could expire before their new schedule ends.
    expect(await deliveries.countDocuments({ ...ofIt, expires_at: { $lte: soon } })).to.equal(0);
    const recovered = await waitFor(key, DeliveryStatus.SUCCEEDED, 2);
    expect(recovered.map(({ attempts }) => attempts.length)).to.deep.equal([4, 4]);
  });

  it("a resent delivery leaves although the endpoint was enabled by a clock that is ahead", async () => {
    const key = await addEndpoint("/ahead");
    receiver.behave(answer(500));
    await webhooks.publish([messageEvent(key.tenantId)]);
    const [failed] = await waitFor(key, DeliveryStatus.FAILED, 1);
    receiver.behave(accept);
    const endpoints = webhooks.mongo.db.collection<EndpointDocument>("endpoints");
    const enabled_at = new Date(Date.now() + 1000);
    await endpoints.updateOne({ _id: key.endpointId }, { $set: { enabled_at } });
    expect((await webhooks.client.recoverDeliveries({ ...key, sinceMs: 0n })).recovered).to.equal(
      1n,
    );
    await webhooks.client.sendTestEvent(key);
    await waitFor(key, DeliveryStatus.SUCCEEDED, 2);
    await endpoints.updateOne(
      { _id: key.endpointId },
      { $set: { enabled_at: new Date(Date.now() + 1000) } },
    );
    await webhooks.client.resendDelivery({ ...key, deliveryId: failed?.id ?? "" });
    await eventually(() => receiver.at("/ahead").length === 6);
  });

  it("a disabled endpoint refuses test events and resends", async () => {
    const key = await addEndpoint("/off");
    const { delivery } = await webhooks.client.sendTestEvent(key);
    const deliveryId = delivery?.id ?? "";
    await webhooks.client.updateEndpoint({ ...key, status: DISABLED });
    for (const call of [
      () => webhooks.client.sendTestEvent(key),
      () => webhooks.client.resendDelivery({ ...key, deliveryId }),
      () => webhooks.client.recoverDeliveries(key),
    ]) {
      const error = await call().then(
        () => undefined,
        (thrown) => toAppError(thrown),
      );
      expect(error?.code).to.equal("invalid_state_transition");
    }
  });

  it("an event without a body becomes a dead letter, and blocks no other", async () => {
    const key = await addEndpoint("/poison");
    const poison = messageEvent(key.tenantId);
    if (poison.payload.case !== "messageChanged" || poison.payload.value.message === undefined) {
      throw new Error("no message");
    }
    poison.payload.value.message.updatedAtMs = 9_000_000_000_000_000n;
    await webhooks.publish([poison, messageEvent(key.tenantId)]);
    await eventually(() => receiver.at("/poison").length === 1);
    await eventually(async () => {
      const { deadLetters } = await webhooks.client.listDeadLetters({ limit: 1000 });
      return deadLetters.some(({ reason }) => reason.startsWith("no body"));
    });
  });

  it("an unreadable event becomes a dead letter, and can be listed and replayed", async () => {
    const subject = `events.message.${newId("tenant")}.test`;
    await webhooks.nats.jetstream.publish(subject, Buffer.of(0xff, 0xff, 0xff));
    const letter = await eventually(async () => {
      const { deadLetters } = await webhooks.client.listDeadLetters({ limit: 1000 });
      return deadLetters.find((found) => found.subject === subject);
    });
    expect(letter.reason).to.equal("the event cannot be read");
    const { replayed } = await webhooks.client.replayDeadLetters({ ids: [letter.id] });
    expect(replayed).to.equal(0);
    const { deadLetters } = await webhooks.client.listDeadLetters({ limit: 1000 });
    expect(deadLetters.map(({ id }) => id)).to.include(letter.id);
  });
});
