import { createHmac } from "node:crypto";
import { expect } from "chai";
import { Mode } from "../../../proto/gen/sms/v1/common_pb.js";
import { MessageSource } from "../../../proto/gen/sms/v1/messaging_pb.js";
import {
  DeliveryStatus,
  KeyedOperation,
  WebhookEndpointStatus,
} from "../../../proto/gen/sms/v1/webhook_pb.js";
import { fingerprint } from "../../../services/shared/core/canonical-json.ts";
import type { AppError } from "../../../services/shared/core/errors.ts";
import { newId } from "../../../services/shared/core/ids.ts";
import { toAppError } from "../../../services/shared/rpc/error-status.ts";
import { eventually } from "../../support/poll.ts";
import {
  messageEvent,
  openWebhooksAndReceiver,
  type WebhookHarness,
} from "../../support/webhook-harness.ts";
import type { Receiver } from "../../support/webhook-receiver.ts";

describe("managing webhook endpoints", () => {
  let receiver: Receiver;
  let webhooks: WebhookHarness;
  let close: (() => Promise<void>) | undefined;

  before(async () => {
    ({ receiver, webhooks, close } = await openWebhooksAndReceiver());
  });
  after(() => close?.());

  async function addEndpoint(tenantId: string, path = "/hook") {
    const answer = await webhooks.client.createEndpoint({ tenantId, url: receiver.url(path) });
    if (answer.endpoint === undefined) throw new Error("no endpoint");
    return { ...answer.endpoint, secret: answer.secret };
  }

  async function refusal(call: Promise<unknown>): Promise<AppError> {
    return call.then(
      () => {
        throw new Error("it was not refused");
      },
      (error) => toAppError(error),
    );
  }

  it("creates, shows, lists, changes and deletes", async () => {
    const tenantId = newId("tenant");
    const created = await addEndpoint(tenantId);
    expect(created.id).to.match(/^whe_[0-9A-HJKMNP-TV-Z]{26}$/);
    expect(created.secret).to.match(/^whsec_[\w-]{43}$/);
    expect(created).to.include({ tenantId, status: WebhookEndpointStatus.ENABLED });
    expect(created.eventTypes).to.deep.equal(["message.status_changed"]);

    const { endpoint } = await webhooks.client.updateEndpoint({
      tenantId,
      endpointId: created.id,
      url: receiver.url("/other"),
      eventTypes: { values: ["message.delivered", "wallet.funded"] },
      sources: { values: [MessageSource.API] },
      description: "billing",
      status: WebhookEndpointStatus.DISABLED,
    });
    expect(endpoint).to.deep.include({
      url: receiver.url("/other"),
      eventTypes: ["message.delivered", "wallet.funded"],
      sources: [MessageSource.API],
      description: "billing",
      status: WebhookEndpointStatus.DISABLED,
    });
    expect(endpoint?.disabledReason).to.not.equal("");
    const key = { tenantId, endpointId: created.id };
    expect((await webhooks.client.getEndpoint(key)).endpoint).to.deep.equal(endpoint);
    expect((await webhooks.client.listEndpoints({ tenantId })).endpoints).to.deep.equal([endpoint]);

    await webhooks.client.deleteEndpoint(key);
    expect((await webhooks.client.listEndpoints({ tenantId })).endpoints).to.deep.equal([]);
    expect((await refusal(webhooks.client.getEndpoint(key))).code).to.equal("not_found");
    expect((await refusal(webhooks.client.deleteEndpoint(key))).code).to.equal("not_found");
  });

  it("a sixth endpoint is refused under concurrent requests, until one is deleted", async () => {
    const tenantId = newId("tenant");
    const results = await Promise.allSettled(
      Array.from({ length: 20 }, (_, at) => addEndpoint(tenantId, `/${at}`)),
    );
    const errors = results.flatMap((result) =>
      result.status === "rejected" ? [toAppError(result.reason)] : [],
    );
    const { endpoints } = await webhooks.client.listEndpoints({ tenantId });
    expect(endpoints.length).to.equal(5);
    expect(errors.length).to.equal(15);
    for (const error of errors) {
      expect(error.code).to.equal("validation_error");
      expect(error.fields[0]?.code).to.equal("too_many");
    }
    await webhooks.client.deleteEndpoint({ tenantId, endpointId: endpoints[2]?.id ?? "" });
    await addEndpoint(tenantId);
    expect((await refusal(addEndpoint(tenantId))).fields[0]?.code).to.equal("too_many");
  });

  it("refuses URLs that break a rule, at creation and at change", async () => {
    const tenantId = newId("tenant");
    const { id: endpointId } = await addEndpoint(tenantId);
    const bad = ["", "http://localhost/", "https://127.0.0.1/", "https://localhost:22/"];
    for (const url of bad) {
      for (const call of [
        () => webhooks.client.createEndpoint({ tenantId, url }),
        () => webhooks.client.updateEndpoint({ tenantId, endpointId, url }),
      ]) {
        const error = await refusal(call());
        expect(error.code).to.equal("validation_error");
        expect(error.fields.map(({ field }) => field)).to.deep.equal(["url"]);
      }
    }
  });

  it("refuses an unknown status", async () => {
    const tenantId = newId("tenant");
    const { id: endpointId } = await addEndpoint(tenantId);
    const status = 99 as WebhookEndpointStatus;
    const error = await refusal(webhooks.client.updateEndpoint({ tenantId, endpointId, status }));
    expect(error.fields.map(({ field }) => field)).to.deep.equal(["status"]);
  });

  it("an endpoint of another tenant or mode behaves as if it did not exist", async () => {
    const tenantId = newId("tenant");
    const { id: endpointId } = await addEndpoint(tenantId);
    const { client } = webhooks;
    const { delivery } = await client.sendTestEvent({ tenantId, endpointId });
    const deliveryId = delivery?.id ?? "";
    const callsFor = (key: { tenantId: string; mode?: Mode; endpointId: string }) => [
      () => client.getEndpoint(key),
      () => client.updateEndpoint({ ...key, description: "mine" }),
      () => client.updateEndpoint({ ...key, url: receiver.url() }),
      () => client.deleteEndpoint(key),
      () => client.rotateSecret(key),
      () => client.listDeliveries(key),
      () => client.getDelivery({ ...key, deliveryId }),
      () => client.resendDelivery({ ...key, deliveryId }),
      () => client.recoverDeliveries({ ...key, sinceMs: 0n }),
      () => client.sendTestEvent(key),
      () => client.checkKey({ ...key, operation: KeyedOperation.ROTATE_SECRET }),
    ];
    for (const strangers of [
      { tenantId: newId("tenant"), endpointId },
      { tenantId, mode: Mode.TEST, endpointId },
    ]) {
      for (const call of callsFor(strangers)) {
        expect((await refusal(call())).code).to.equal("not_found");
      }
    }
    for (const mode of [Mode.LIVE, Mode.UNSPECIFIED]) {
      const { endpoint } = await client.getEndpoint({ tenantId, mode, endpointId });
      expect(endpoint).to.include({ mode: Mode.LIVE });
    }
  });

  it("one idempotency key makes one endpoint and returns the same secret again", async () => {
    const tenantId = newId("tenant");
    const url = receiver.url("/once");
    const request = { tenantId, url, idempotencyKey: "key-1", fingerprint: fingerprint({ url }) };
    const first = await webhooks.client.createEndpoint(request);
    const again = await webhooks.client.createEndpoint(request);
    expect(again).to.deep.equal({ ...first, replayed: true });
    expect((await webhooks.client.listEndpoints({ tenantId })).endpoints.length).to.equal(1);

    const other = { ...request, fingerprint: fingerprint({ url: "other" }) };
    expect((await refusal(webhooks.client.createEndpoint(other))).code).to.equal(
      "idempotency_key_reused",
    );
    const stranger = await webhooks.client.createEndpoint({
      ...request,
      tenantId: newId("tenant"),
    });
    expect(stranger.replayed).to.equal(false);
  });

  it("a failed request leaves its idempotency key free", async () => {
    const tenantId = newId("tenant");
    const wanted = { tenantId, idempotencyKey: "key-2", fingerprint: fingerprint({}) };
    await refusal(webhooks.client.createEndpoint({ ...wanted, url: "https://127.0.0.1/" }));
    const { replayed } = await webhooks.client.createEndpoint({ ...wanted, url: receiver.url() });
    expect(replayed).to.equal(false);
  });

  it("the database holds no secret in plain text, not even in stored responses", async () => {
    const tenantId = newId("tenant");
    const { endpoint, secret } = await webhooks.client.createEndpoint({
      tenantId,
      url: receiver.url(),
      idempotencyKey: "key-3",
      fingerprint: fingerprint({}),
    });
    const rotated = await webhooks.client.rotateSecret({
      tenantId,
      endpointId: endpoint?.id ?? "",
    });
    const texts = [secret, rotated.secret].flatMap((text) => [
      text,
      Buffer.from(text).toString("base64"),
      text.slice("whsec_".length),
    ]);
    for (const name of ["endpoints", "idempotency", "deliveries"]) {
      const documents = await webhooks.mongo.db.collection(name).find().toArray();
      const dump = JSON.stringify(documents);
      for (const text of texts) expect(dump).not.to.include(text);
    }
  });

  it("a rotated endpoint signs with both secrets, newest first", async () => {
    const tenantId = newId("tenant");
    const first = await addEndpoint(tenantId, "/rotated");
    const key = { tenantId, endpointId: first.id };
    const { secret } = await webhooks.client.rotateSecret(key);
    expect(secret).to.not.equal(first.secret);
    await webhooks.publish([messageEvent(tenantId)]);
    await eventually(() => receiver.at("/rotated").length > 0);
    const request = receiver.at("/rotated")[0];
    const header = String(request?.headers["x-service-signature"]);
    const [t = "", ...signatures] = header.split(",");
    const wanted = [secret, first.secret].map((each) =>
      createHmac("sha256", each)
        .update(`${t.slice(2)}.${request?.body.toString()}`)
        .digest("hex"),
    );
    expect(signatures).to.deep.equal(wanted.map((hex) => `v1=${hex}`));
  });

  it("a test event is sent to its endpoint only, subscribed to it or not", async () => {
    const tenantId = newId("tenant");
    const { id: endpointId } = await addEndpoint(tenantId, "/tested");
    const { id: otherId } = await addEndpoint(tenantId, "/not-tested");
    const { delivery } = await webhooks.client.sendTestEvent({ tenantId, endpointId });
    await eventually(() => receiver.at("/tested").length > 0);
    const [request] = receiver.at("/tested");
    expect(request?.headers).to.include({
      "x-service-event-type": "webhook.test",
      "x-service-delivery-id": delivery?.id,
    });
    const body = JSON.parse(request?.body.toString() ?? "");
    expect(body).to.include({ type: "webhook.test", tenant_id: tenantId });
    expect(body.data.object.message).to.be.a("string");
    // The deliveries of an event to all endpoints are stored together.
    const others = await webhooks.client.listDeliveries({ tenantId, endpointId: otherId });
    expect(others.deliveries).to.deep.equal([]);
    expect(receiver.at("/not-tested")).to.deep.equal([]);
  });

  it("the log is paged newest first and filtered", async () => {
    const tenantId = newId("tenant");
    const { id: endpointId } = await addEndpoint(tenantId, "/log");
    const events = Array.from({ length: 25 }, () => messageEvent(tenantId));
    await webhooks.publish(events);
    await eventually(() => receiver.at("/log").length === events.length);
    const key = { tenantId, endpointId };

    const seen: string[] = [];
    let beforeId = "";
    for (let hasMore = true; hasMore; ) {
      const page = await webhooks.client.listDeliveries({ ...key, limit: 10, beforeId });
      seen.push(...page.deliveries.map(({ eventId }) => eventId));
      beforeId = page.deliveries.at(-1)?.id ?? "";
      hasMore = page.hasMore;
    }
    expect(new Set(seen)).to.deep.equal(new Set(events.map(({ id }) => id)));
    expect(seen.length).to.equal(25);

    await eventually(async () => {
      const statuses = [DeliveryStatus.SUCCEEDED];
      const { deliveries } = await webhooks.client.listDeliveries({ ...key, statuses, limit: 100 });
      return deliveries.length === 25;
    });
    const none = await webhooks.client.listDeliveries({
      ...key,
      statuses: [DeliveryStatus.FAILED],
    });
    expect(none.deliveries).to.deep.equal([]);
    const typed = await webhooks.client.listDeliveries({ ...key, eventType: "message.sent" });
    expect(typed.deliveries).to.deep.equal([]);
    const later = BigInt(Date.now() + 1000);
    const after = await webhooks.client.listDeliveries({ ...key, createdAfterMs: later });
    expect(after.deliveries).to.deep.equal([]);
    const before = await webhooks.client.listDeliveries({ ...key, createdBeforeMs: later });
    expect(before.deliveries.length).to.equal(25);
    const error = await refusal(webhooks.client.listDeliveries({ ...key, limit: 101 }));
    expect(error.fields[0]?.field).to.equal("limit");
  });

  it("the bounds of the log must be an id and an instant in the range of ids", async () => {
    const tenantId = newId("tenant");
    const { id: endpointId } = await addEndpoint(tenantId);
    const key = { tenantId, endpointId };
    const { client } = webhooks;
    const latest = 2n ** 48n - 1n;
    const page = {
      createdAfterMs: -latest,
      createdBeforeMs: latest,
      beforeId: newId("webhookDelivery"),
    };
    expect((await client.listDeliveries({ ...key, ...page })).deliveries).to.deep.equal([]);
    expect((await client.recoverDeliveries({ ...key, sinceMs: latest })).recovered).to.equal(0n);
    const refused: [string, () => Promise<unknown>][] = [
      ["before_id", () => client.listDeliveries({ ...key, beforeId: "whd_1" })],
      ["before_id", () => client.listDeliveries({ ...key, beforeId: newId("message") })],
      ["created_after_ms", () => client.listDeliveries({ ...key, createdAfterMs: latest + 1n })],
      ["created_before_ms", () => client.listDeliveries({ ...key, createdBeforeMs: latest + 1n })],
      ["since_ms", () => client.recoverDeliveries({ ...key, sinceMs: latest + 1n })],
    ];
    for (const [field, call] of refused) {
      const error = await refusal(call());
      expect([error.code, error.fields[0]?.field]).to.deep.equal(["validation_error", field]);
    }
  });

  it("an idempotency key must have its form, and the fingerprint of its request", async () => {
    const tenantId = newId("tenant");
    const key = { tenantId, endpointId: (await addEndpoint(tenantId)).id };
    const { client } = webhooks;
    const deliveryId = (await client.sendTestEvent(key)).delivery?.id ?? "";
    const print = fingerprint({});
    const refused = [
      ["idempotency_key", { idempotencyKey: "a b", fingerprint: print }],
      ["idempotency_key", { idempotencyKey: "a".repeat(65), fingerprint: print }],
      ["fingerprint", { idempotencyKey: "a", fingerprint: new Uint8Array() }],
      ["fingerprint", { idempotencyKey: "a", fingerprint: print.subarray(1) }],
    ] as const;
    for (const [field, keyed] of refused) {
      for (const call of [
        () => client.createEndpoint({ tenantId, url: receiver.url(), ...keyed }),
        () => client.rotateSecret({ ...key, ...keyed }),
        () => client.sendTestEvent({ ...key, ...keyed }),
        () => client.resendDelivery({ ...key, deliveryId, ...keyed }),
        () => client.recoverDeliveries({ ...key, ...keyed }),
      ]) {
        const error = await refusal(call());
        expect([error.code, error.fields[0]?.field]).to.deep.equal(["validation_error", field]);
      }
    }
    const idempotencyKey = "-_9".padEnd(64, "a");
    await client.sendTestEvent({ ...key, idempotencyKey, fingerprint: print });
  });
});
