/** The order of refusals: not found, then the key, then the state. */
import { expect } from "chai";
import { DeliveryStatus, WebhookEndpointStatus } from "../../../proto/gen/sms/v1/webhook_pb.js";
import { fingerprint } from "../../../services/shared/core/canonical-json.ts";
import { newId } from "../../../services/shared/core/ids.ts";
import { toAppError } from "../../../services/shared/rpc/error-status.ts";
import { eventually } from "../../support/poll.ts";
import { openWebhooksAndReceiver, type WebhookHarness } from "../../support/webhook-harness.ts";
import { accept, type Receiver } from "../../support/webhook-receiver.ts";

describe("the order in which webhook operations refuse", () => {
  let receiver: Receiver;
  let webhooks: WebhookHarness;
  let close: (() => Promise<void>) | undefined;

  before(async () => {
    ({ receiver, webhooks, close } = await openWebhooksAndReceiver({
      // No retry happens during a test.
      WEBHOOK_RETRY_DELAYS_MS: "600000",
    }));
  });
  after(() => close?.());
  beforeEach(() => receiver.behave(accept));

  async function addEndpoint() {
    const tenantId = newId("tenant");
    const { endpoint } = await webhooks.client.createEndpoint({ tenantId, url: receiver.url() });
    return { tenantId, endpointId: endpoint?.id ?? "" };
  }
  type Key = Awaited<ReturnType<typeof addEndpoint>>;

  /** Sends a test event and returns its delivery once its attempt has ended. */
  async function addDelivery(key: Key): Promise<string> {
    const { delivery } = await webhooks.client.sendTestEvent(key);
    const deliveryId = delivery?.id ?? "";
    await eventually(async () => (await show({ ...key, deliveryId })).attempts.length > 0);
    return deliveryId;
  }

  const show = async (key: Key & { deliveryId: string }) => {
    const { delivery } = await webhooks.client.getDelivery(key);
    if (delivery === undefined) throw new Error("no delivery");
    return delivery;
  };
  const codeOf = (call: Promise<unknown>): Promise<string> =>
    call.then(
      () => "no error",
      (error) => toAppError(error).code,
    );
  const keyed = (idempotencyKey: string) => ({ idempotencyKey, fingerprint: fingerprint({}) });
  const disable = (key: Key) =>
    webhooks.client.updateEndpoint({ ...key, status: WebhookEndpointStatus.DISABLED });

  it("one delivery is shown; an unknown one and one of another endpoint are not found", async () => {
    const [key, other] = [await addEndpoint(), await addEndpoint()];
    const deliveryId = await addDelivery(key);
    expect(await show({ ...key, deliveryId })).to.include({
      id: deliveryId,
      endpointId: key.endpointId,
      status: DeliveryStatus.SUCCEEDED,
    });
    for (const wanted of [
      { ...key, deliveryId: newId("webhookDelivery") },
      { ...key, deliveryId: "whd_1" },
      { ...other, deliveryId },
      { ...key, tenantId: other.tenantId, deliveryId },
    ]) {
      expect(await codeOf(webhooks.client.getDelivery(wanted))).to.equal("not_found");
    }
  });

  it("an unknown delivery is not_found for any key and any state of its endpoint", async () => {
    const key = await addEndpoint();
    const wanted = { ...key, deliveryId: newId("webhookDelivery") };
    const { client } = webhooks;
    expect(await codeOf(client.resendDelivery({ ...wanted, ...keyed("no key!") }))).to.equal(
      "not_found",
    );
    await disable(key);
    expect(await codeOf(client.resendDelivery(wanted))).to.equal("not_found");
  });

  it("a repeat gets its response on a disabled endpoint, and not found on a deleted one", async () => {
    const key = await addEndpoint();
    const deliveryId = await addDelivery(key);
    const { client } = webhooks;
    const calls = {
      rotate: () => client.rotateSecret({ ...key, ...keyed("rotate") }),
      recover: () => client.recoverDeliveries({ ...key, ...keyed("recover") }),
      resend: () => client.resendDelivery({ ...key, deliveryId, ...keyed("resend") }),
      test: () => client.sendTestEvent({ ...key, ...keyed("test") }),
    };
    for (const [name, call] of Object.entries(calls)) {
      expect((await call()).replayed, name).to.equal(false);
    }
    await disable(key);
    for (const [name, call] of Object.entries(calls)) {
      expect((await call()).replayed, name).to.equal(true);
    }
    await client.deleteEndpoint(key);
    for (const [name, call] of Object.entries(calls)) {
      expect(await codeOf(call()), name).to.equal("not_found");
    }
  });

  it("a delivery with a running attempt returns conflict, and its key stays free", async () => {
    const key = await addEndpoint();
    const deliveryId = await addDelivery(key);
    const { promise: asked, resolve: isAsked } = Promise.withResolvers<() => void>();
    receiver.behave((response) => isAsked(() => void response.writeHead(500).end()));
    const { client } = webhooks;
    await client.resendDelivery({ ...key, deliveryId });
    const finish = await asked;
    const again = () => client.resendDelivery({ ...key, deliveryId, ...keyed("again") });
    expect(await codeOf(again())).to.equal("conflict");
    receiver.behave(accept);
    finish();
    await eventually(async () => (await show({ ...key, deliveryId })).attempts.length === 2);
    expect((await again()).replayed).to.equal(false);
    await eventually(async () => (await show({ ...key, deliveryId })).attempts.length === 3);
  });
});
