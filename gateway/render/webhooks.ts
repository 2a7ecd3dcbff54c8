import {
  type Delivery,
  DeliveryStatus,
  type WebhookEndpoint,
  WebhookEndpointStatus,
} from "../../proto/gen/sms/v1/webhook_pb.js";
import { invert } from "../../services/shared/core/invert.ts";
import { formatInstant } from "../../services/shared/core/rfc3339.ts";
import { instantOrNull, SOURCE_NAMES, textOrNull } from "./message.ts";

/** Delivery statuses by public name. */
export const DELIVERY_STATUSES = {
  pending: DeliveryStatus.PENDING,
  succeeded: DeliveryStatus.SUCCEEDED,
  failed: DeliveryStatus.FAILED,
  dropped: DeliveryStatus.DROPPED,
} as const;

const DELIVERY_STATUS_NAMES: ReadonlyMap<DeliveryStatus, string> = invert(DELIVERY_STATUSES);

/** Renders a webhook endpoint; with `secret` only after creation and rotation. */
export function renderWebhookEndpoint(endpoint: WebhookEndpoint, secret?: string) {
  return {
    id: endpoint.id,
    object: "webhook_endpoint",
    url: endpoint.url,
    status: endpoint.status === WebhookEndpointStatus.ENABLED ? "enabled" : "disabled",
    event_types: endpoint.eventTypes,
    sources: endpoint.sources.map((source) => SOURCE_NAMES[source]),
    description: textOrNull(endpoint.description),
    disabled_reason: textOrNull(endpoint.disabledReason),
    ...(secret === undefined ? {} : { secret }),
    created_at: formatInstant(Number(endpoint.createdAtMs)),
    updated_at: formatInstant(Number(endpoint.updatedAtMs)),
  };
}

/**
 * A refused address looks like any failed connection: a customer who controls a name must not learn
 * which addresses are inside our network. Operators see the difference over gRPC.
 */
export function publicError(error: string): string {
  return error === "address_not_allowed" ? "connection" : error;
}

/** Renders a delivery with its attempts, oldest first. */
export function renderDelivery(delivery: Delivery) {
  return {
    id: delivery.id,
    object: "webhook_delivery",
    endpoint_id: delivery.endpointId,
    event_id: delivery.eventId,
    event_type: delivery.eventType,
    status: DELIVERY_STATUS_NAMES.get(delivery.status) ?? "",
    next_attempt_at: instantOrNull(delivery.nextAttemptAtMs),
    created_at: formatInstant(Number(delivery.createdAtMs)),
    completed_at: instantOrNull(delivery.completedAtMs),
    attempts: delivery.attempts.map((attempt) => ({
      number: attempt.number,
      started_at: formatInstant(Number(attempt.startedAtMs)),
      duration_ms: attempt.durationMs,
      http_status: attempt.httpStatus === 0 ? null : attempt.httpStatus,
      error: textOrNull(publicError(attempt.error)),
      answer: attempt.answer,
    })),
  };
}
