import type { Caller, CallOptions } from "../call.ts";
import { createList, type List } from "../list.ts";
import type { BodyOf, EntryOf, QueryOf } from "../operation-types.ts";
import { fetchData } from "./resource.ts";

/** Webhook endpoints and their deliveries. */
export function webhookMethods(call: Caller) {
  const one = (endpoint_id: string) => ({ path: { endpoint_id } });
  const webhookEndpoints = {
    list: (options: CallOptions = {}): List<EntryOf<"listWebhookEndpoints">> =>
      createList(call, "listWebhookEndpoints", {}, options),
    /** Creates an endpoint; the response shows its `secret` this once. */
    create: (body: BodyOf<"createWebhookEndpoint">, options: CallOptions = {}) =>
      fetchData(call, "createWebhookEndpoint", { body }, options),
    get: (id: string, options: CallOptions = {}) =>
      fetchData(call, "getWebhookEndpoint", one(id), options),
    /** Absent members keep their value. */
    update: (id: string, body: BodyOf<"updateWebhookEndpoint">, options: CallOptions = {}) =>
      fetchData(call, "updateWebhookEndpoint", { ...one(id), body }, options),
    async delete(id: string, options: CallOptions = {}): Promise<void> {
      await call("deleteWebhookEndpoint", one(id), options);
    },
    /** Makes a new secret; both sign for 24 hours. */
    rotateSecret: (id: string, options: CallOptions = {}) =>
      fetchData(call, "rotateWebhookSecret", one(id), options),
    /** Sends a `webhook.test` event. */
    sendTest: (id: string, options: CallOptions = {}) =>
      fetchData(call, "sendWebhookTest", one(id), options),
    /** Newest first, each with its attempts. */
    listDeliveries: (
      id: string,
      query: QueryOf<"listWebhookDeliveries"> = {},
      options: CallOptions = {},
    ): List<EntryOf<"listWebhookDeliveries">> =>
      createList(call, "listWebhookDeliveries", { ...one(id), query }, options),
    /** One delivery with the body of its requests. */
    getDelivery: (id: string, delivery_id: string, options: CallOptions = {}) =>
      fetchData(call, "getWebhookDelivery", { path: { endpoint_id: id, delivery_id } }, options),
    /** Sends one delivery again. */
    resendDelivery: (id: string, delivery_id: string, options: CallOptions = {}) =>
      fetchData(call, "resendWebhookDelivery", { path: { endpoint_id: id, delivery_id } }, options),
    /** Sends all deliveries that failed since an instant again. */
    recover: (id: string, body: BodyOf<"recoverWebhookDeliveries">, options: CallOptions = {}) =>
      fetchData(call, "recoverWebhookDeliveries", { ...one(id), body }, options),
  };
  return { webhookEndpoints };
}
