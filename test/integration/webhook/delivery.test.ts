import { createHmac } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { expect } from "chai";
import { Mode } from "../../../proto/gen/sms/v1/common_pb.js";
import { EventSchema } from "../../../proto/gen/sms/v1/events_pb.js";
import { DeliveryStatus } from "../../../proto/gen/sms/v1/webhook_pb.js";
import { newId } from "../../../services/shared/core/ids.ts";
import { eventually } from "../../support/poll.ts";
import {
  messageEvent,
  openWebhooksAndReceiver,
  type WebhookHarness,
} from "../../support/webhook-harness.ts";
import { accept, answer, type Receiver } from "../../support/webhook-receiver.ts";

describe("webhook delivery", () => {
  let receiver: Receiver;
  let webhooks: WebhookHarness;
  let close: (() => Promise<void>) | undefined;

  before(async () => {
    ({ receiver, webhooks, close } = await openWebhooksAndReceiver({
      WEBHOOK_RETRY_DELAYS_MS: "300,600",
      WEBHOOK_TIMEOUT_MS: "1000",
    }));
  });
  after(() => close?.());
  beforeEach(() => receiver.behave(accept));

  async function addEndpoint(
    tenantId: string,
    path: string,
    about: { readonly mode?: Mode; readonly eventTypes?: string[] } = {},
  ) {
    const url = receiver.url(path);
    const { endpoint, secret } = await webhooks.client.createEndpoint({ tenantId, url, ...about });
    if (endpoint === undefined) throw new Error("no endpoint");
    return { id: endpoint.id, secret };
  }

  it("sends an event at once, signed, with the headers and the compact sorted body of the contract", async () => {
    const tenantId = newId("tenant");
    const { secret } = await addEndpoint(tenantId, "/first");
    const event = messageEvent(tenantId);
    await webhooks.publish([event]);

    const [request] = await eventually(() => {
      const found = receiver.at("/first");
      return found.length > 0 && found;
    });
    if (request === undefined) throw new Error("nothing came");
    const text = request.body.toString("utf8");
    const body = JSON.parse(text);
    expect(text).to.equal(JSON.stringify(sorted(body)));
    expect(Object.keys(body.data.object)).to.deep.equal(
      "amount body charge_state created_at error_code from id object sent_at status to unit_price updated_at".split(
        " ",
      ),
    );
    expect(body).to.deep.include({ api_version: "v1", id: event.id, tenant_id: tenantId });
    expect(body.data).to.deep.include({ previous_status: "sent" });
    expect(body.data.object).to.deep.include({
      amount: "4.0000",
      charge_state: "captured",
      error_code: null,
      status: "delivered",
    });
    const { headers } = request;
    expect(headers).to.deep.include({
      "content-type": "application/json",
      "user-agent": "Service-Webhooks/1",
      "x-service-event-type": "message.status_changed",
      "x-service-event-id": event.id,
      "x-service-delivery-attempt": "1",
    });
    expect(headers["x-service-delivery-id"]).to.match(/^whd_[0-9A-HJKMNP-TV-Z]{26}$/);
    const [, t, v1] =
      /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers["x-service-signature"])) ?? [];
    expect(Math.abs(Date.now() / 1000 - Number(t))).to.be.below(5);
    expect(v1).to.equal(createHmac("sha256", secret).update(`${t}.${text}`).digest("hex"));
  });

  it("sends a message's events to endpoints of its mode, and the account's to live ones", async () => {
    const tenantId = newId("tenant");
    const eventTypes = ["message.status_changed", "wallet.funded"];
    for (const mode of [Mode.LIVE, Mode.TEST]) {
      await addEndpoint(tenantId, `/mode-${mode}`, { mode, eventTypes });
    }
    // Endpoints of the release before modes have no such field.
    const { id } = await addEndpoint(tenantId, "/old", { eventTypes });
    await webhooks.mongo.db
      .collection<{ _id: string }>("endpoints")
      .updateOne({ _id: id }, { $unset: { mode: "" } });
    const live = messageEvent(tenantId, { mode: Mode.LIVE });
    const test = messageEvent(tenantId, { mode: Mode.TEST });
    const funded = create(EventSchema, {
      id: newId("event"),
      tenantId,
      occurredAtMs: BigInt(Date.now()),
      payload: {
        case: "walletChanged",
        value: { type: "funded", wallet: { tenantId, currency: "NGN" }, amount: 1n },
      },
    });
    await webhooks.publish([test, live, funded]);
    const idsAt = (path: string) =>
      receiver.at(path).map(({ headers }) => String(headers["x-service-event-id"]));
    await eventually(() => idsAt("/old").length === 2 && idsAt(`/mode-${Mode.TEST}`).length === 1);
    for (const path of [`/mode-${Mode.LIVE}`, "/old"]) {
      await eventually(() => idsAt(path).length === 2);
      expect(idsAt(path)).to.have.members([live.id, funded.id]);
    }
    expect(idsAt(`/mode-${Mode.TEST}`)).to.deep.equal([test.id]);
  });

  it("retries on schedule with the same id and bytes, then fails", async () => {
    const tenantId = newId("tenant");
    const { id } = await addEndpoint(tenantId, "/failing");
    receiver.behave(answer(500, "no"));
    await webhooks.publish([messageEvent(tenantId)]);

    const failed = await eventually(async () => {
      const { deliveries } = await webhooks.client.listDeliveries({ tenantId, endpointId: id });
      return deliveries.find(({ status }) => status === DeliveryStatus.FAILED);
    });
    const requests = receiver.at("/failing");
    expect(requests.map(({ headers }) => headers["x-service-delivery-attempt"])).to.deep.equal([
      "1",
      "2",
      "3",
    ]);
    expect(new Set(requests.map(({ body }) => body.toString())).size).to.equal(1);
    expect(new Set(requests.map(({ headers }) => headers["x-service-delivery-id"])).size).to.equal(
      1,
    );
    const gaps = failed.attempts.slice(1).map(({ startedAtMs }, at) => {
      const before = failed.attempts[at];
      return Number(startedAtMs) - Number(before?.startedAtMs) - Number(before?.durationMs);
    });
    expect(gaps[0]).to.be.within(299, 1300);
    expect(gaps[1]).to.be.within(599, 1600);
    expect(
      failed.attempts.map(({ httpStatus, error, answer }) => [httpStatus, error, answer]),
    ).to.deep.equal([1, 2, 3].map(() => [500, "status", "no"]));
  });
});

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, item]) => [key, sorted(item)]),
  );
}
