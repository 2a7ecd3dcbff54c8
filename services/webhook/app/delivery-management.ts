/** How owners manage their deliveries. Each use case: load, decide, save. */
import type { Clock } from "../../shared/core/clock.ts";
import { AppError } from "../../shared/core/errors.ts";
import { newId } from "../../shared/core/ids.ts";
import type { Delivery } from "../domain/delivery.ts";
import { deliveryId } from "../domain/deterministic-ids.ts";
import type { Endpoint, EndpointKey } from "../domain/endpoint.ts";
import { eventBody, testData } from "../domain/payloads.ts";
import { notFound, type RunOnce } from "./endpoint-management.ts";
import type { DeliveryFilter, DeliveryLog, EndpointStore, NewDelivery } from "./ports.ts";

export type DeliveryKey = EndpointKey & { readonly deliveryId: string };

/** Dependencies of these use cases. */
export type DeliveryParts<Session> = {
  readonly clock: Clock;
  readonly endpoints: Pick<EndpointStore, "get">;
  readonly deliveries: DeliveryLog & {
    insertDue(delivery: NewDelivery, session: Session): Promise<Delivery>;
    resend(
      key: DeliveryKey,
      nowMs: number,
      session: Session,
    ): Promise<Delivery | "redacted" | "attempting" | undefined>;
    recover(endpointId: string, sinceMs: number, attempts: number, nowMs: number): Promise<number>;
  };
  /** Makes the dispatcher poll soon. */
  readonly nudge: () => void;
  readonly attemptsMax: number;
};

/** One page of an endpoint's log, newest first. Throws not_found. */
export async function listDeliveries<S>(parts: DeliveryParts<S>, filter: DeliveryFilter) {
  await findEndpoint(parts, filter);
  return parts.deliveries.list(filter);
}

/** Throws not_found for the delivery or its endpoint. */
export async function getDelivery<S>(
  parts: DeliveryParts<S>,
  key: DeliveryKey,
  withBody = false,
): Promise<Delivery> {
  await findEndpoint(parts, key);
  const { tenantId, endpointId, deliveryId } = key;
  return (await parts.deliveries.get(tenantId, endpointId, deliveryId, withBody)) ?? noDelivery();
}

/** The most deliveries listed: six statuses with two events each, for ten endpoints and for others deleted since. */
const MESSAGE_DELIVERIES_MAX = 500;

/** The deliveries of a message's events, oldest first. */
export function listMessageDeliveries<S>(
  { deliveries }: DeliveryParts<S>,
  tenantId: string,
  messageId: string,
): Promise<Delivery[]> {
  return deliveries.ofMessage(tenantId, messageId, MESSAGE_DELIVERIES_MAX);
}

/**
 * Makes a delivery due now. The caller has checked that it exists. Throws invalid_state_transition,
 * and conflict during an attempt: that may be the last one, so a further attempt cannot be promised.
 */
export async function resendDelivery<S, Answer>(
  parts: DeliveryParts<S>,
  key: DeliveryKey,
  runOnce: RunOnce<S, Delivery, Answer>,
): Promise<Answer> {
  const endpoint = await findEnabled(parts, key);
  const result = await runOnce(async (session) => {
    const delivery = await parts.deliveries.resend(key, activation(parts, endpoint), session);
    if (delivery === undefined) return noDelivery();
    if (delivery === "redacted") {
      throw new AppError("invalid_state_transition", "The delivery's body is no longer kept.");
    }
    if (delivery === "attempting") {
      throw new AppError("conflict", "An attempt is being made; try again when it is over.");
    }
    return delivery;
  });
  parts.nudge();
  return result;
}

/** Makes the deliveries that failed since an instant due again. Throws like `resendDelivery`. */
export async function recoverDeliveries<S, Answer>(
  parts: DeliveryParts<S>,
  request: EndpointKey & { readonly sinceMs: number },
  runOnce: RunOnce<S, number, Answer>,
): Promise<Answer> {
  const endpoint = await findEnabled(parts, request);
  const nowMs = activation(parts, endpoint);
  let recovered = 0;
  // Outside the transaction: the deliveries are too many. If `runOnce` repeats this, those recovered before stay
  // so and count.
  const result = await runOnce(async () => {
    const { endpointId, sinceMs } = request;
    recovered += await parts.deliveries.recover(endpointId, sinceMs, parts.attemptsMax, nowMs);
    return recovered;
  });
  parts.nudge();
  return result;
}

/** Sends a `webhook.test` event to one endpoint, whether it is subscribed or not. */
export async function sendTestEvent<S, Answer>(
  parts: DeliveryParts<S>,
  key: EndpointKey,
  runOnce: RunOnce<S, Delivery, Answer>,
): Promise<Answer> {
  const { tenantId, endpointId } = key;
  const endpoint = await findEnabled(parts, key);
  const nowMs = activation(parts, endpoint);
  const eventId = newId("event");
  const type = "webhook.test";
  const result = await runOnce((session) =>
    parts.deliveries.insertDue(
      {
        id: deliveryId(eventId, endpointId),
        tenantId,
        endpointId,
        eventId,
        eventType: type,
        body: eventBody({ id: eventId, tenantId, type, occurredAtMs: nowMs }, testData()),
        attemptsLeft: parts.attemptsMax,
        createdAtMs: nowMs,
        activatedAtMs: nowMs,
        dueAtMs: nowMs,
        lease: undefined,
      },
      session,
    ),
  );
  parts.nudge();
  return result;
}

/** Throws not_found. */
export async function findEndpoint<S>(
  parts: DeliveryParts<S>,
  key: EndpointKey,
): Promise<Endpoint> {
  return (await parts.endpoints.get(key)) ?? notFound();
}

async function findEnabled<S>(parts: DeliveryParts<S>, key: EndpointKey): Promise<Endpoint> {
  const endpoint = await findEndpoint(parts, key);
  if (endpoint.status === "enabled") return endpoint;
  throw new AppError("invalid_state_transition", "The endpoint is disabled.");
}

/** Now, but not before the enabled period: a replica with a faster clock may have begun it. */
function activation<S>({ clock }: DeliveryParts<S>, { enabledAtMs }: Endpoint): number {
  return Math.max(clock.now(), enabledAtMs);
}

function noDelivery(): never {
  throw new AppError("not_found", "There is no such delivery.");
}
