/** Maps protobuf messages to the domain and back. */
import { create } from "@bufbuild/protobuf";
import { Mode } from "../../../proto/gen/sms/v1/common_pb.js";
import { MessageSource } from "../../../proto/gen/sms/v1/messaging_pb.js";
import {
  type CheckKeyRequest,
  DeliverySchema,
  DeliveryStatus as DeliveryStatusProto,
  KeyedOperation,
  type UpdateEndpointRequest,
  WebhookEndpointSchema,
  WebhookEndpointStatus,
} from "../../../proto/gen/sms/v1/webhook_pb.js";
import { checkKnown, invalidField } from "../../shared/core/limits.ts";
import { MESSAGE_SOURCES, type MessageSourceName } from "../../shared/core/message-source.ts";
import { readMode, WIRE_MODE } from "../../shared/rpc/mode.ts";
import type { DeliveryKey } from "../app/delivery-management.ts";
import type { RequestKey } from "../app/idempotency.ts";
import type { Delivery, DeliveryStatus } from "../domain/delivery.ts";
import type { Endpoint, EndpointChange, EndpointKey } from "../domain/endpoint.ts";

const SOURCES: Readonly<Record<MessageSourceName, MessageSource>> = {
  api: MessageSource.API,
  campaign: MessageSource.CAMPAIGN,
  quick_send: MessageSource.QUICK_SEND,
  test_send: MessageSource.TEST_SEND,
};

/** Sources of a request; throws validation_error for an unknown one. */
export function readSources(values: readonly MessageSource[]): MessageSourceName[] {
  return values.map((value, at) => {
    const name = MESSAGE_SOURCES[value - 1];
    if (name !== undefined) return name;
    throw invalidField(`sources[${at}]`, "invalid_value", "This is no source of messages.");
  });
}

/** The endpoint that a request names. */
export function readEndpointKey(
  request: Pick<CheckKeyRequest, "tenantId" | "mode" | "endpointId">,
): EndpointKey {
  const { tenantId, mode, endpointId } = request;
  return { tenantId, mode: readMode(mode), endpointId };
}

/** The delivery that a request names. */
export function readDeliveryKey(
  request: Pick<CheckKeyRequest, "tenantId" | "mode" | "endpointId" | "deliveryId">,
): DeliveryKey {
  return { ...readEndpointKey(request), deliveryId: request.deliveryId };
}

export function toEndpointProto(endpoint: Endpoint) {
  return create(WebhookEndpointSchema, {
    id: endpoint.id,
    tenantId: endpoint.tenantId,
    mode: WIRE_MODE[endpoint.mode],
    url: endpoint.url,
    status:
      endpoint.status === "enabled"
        ? WebhookEndpointStatus.ENABLED
        : WebhookEndpointStatus.DISABLED,
    eventTypes: [...endpoint.eventTypes],
    sources: endpoint.sources.map((source) => SOURCES[source]),
    description: endpoint.description,
    disabledReason: endpoint.disabledReason,
    createdAtMs: BigInt(endpoint.createdAtMs),
    updatedAtMs: BigInt(endpoint.updatedAtMs),
    failingSinceMs: BigInt(endpoint.failingSinceMs),
  });
}

const STATUSES: Readonly<Record<DeliveryStatus, DeliveryStatusProto>> = {
  pending: DeliveryStatusProto.PENDING,
  succeeded: DeliveryStatusProto.SUCCEEDED,
  failed: DeliveryStatusProto.FAILED,
  dropped: DeliveryStatusProto.DROPPED,
};

/** Statuses of a filter; throws validation_error for an unknown one. */
export function readStatuses(values: readonly DeliveryStatusProto[]): DeliveryStatus[] {
  const read = values.map((value, at) => {
    const entry = Object.entries(STATUSES).find(([, proto]) => proto === value);
    if (entry !== undefined) return entry[0] as DeliveryStatus;
    throw invalidField(`statuses[${at}]`, "invalid_value", "This is no status of deliveries.");
  });
  return [...new Set(read)];
}

export function toDeliveryProto(delivery: Delivery) {
  return create(DeliverySchema, {
    id: delivery.id,
    tenantId: delivery.tenantId,
    endpointId: delivery.endpointId,
    eventId: delivery.eventId,
    eventType: delivery.eventType,
    status: STATUSES[delivery.status],
    nextAttemptAtMs: BigInt(delivery.nextAttemptAtMs),
    attempts: delivery.attempts.map((attempt) => ({
      number: attempt.number,
      startedAtMs: BigInt(attempt.startedAtMs),
      durationMs: attempt.durationMs,
      httpStatus: attempt.httpStatus,
      error: attempt.error,
      answer: attempt.answer,
    })),
    createdAtMs: BigInt(delivery.createdAtMs),
    completedAtMs: BigInt(delivery.completedAtMs),
    body: delivery.body ?? "",
  });
}

const STATUS_FROM_PROTO: Readonly<Partial<Record<WebhookEndpointStatus, "enabled" | "disabled">>> =
  {
    [WebhookEndpointStatus.ENABLED]: "enabled",
    [WebhookEndpointStatus.DISABLED]: "disabled",
  };

/** The changes of an update; absent fields stay as they are. */
export function readEndpointChange(request: UpdateEndpointRequest): EndpointChange {
  return {
    ...(request.url === undefined ? {} : { url: request.url }),
    ...(request.status === WebhookEndpointStatus.UNSPECIFIED
      ? {}
      : { status: checkKnown("status", STATUS_FROM_PROTO[request.status]) }),
    ...(request.eventTypes === undefined ? {} : { eventTypes: request.eventTypes.values }),
    ...(request.sources === undefined ? {} : { sources: readSources(request.sources.values) }),
    ...(request.description === undefined ? {} : { description: request.description }),
  };
}

/** The scope of an idempotency key. */
type KeyedRequest = Pick<CheckKeyRequest, "tenantId" | "mode" | "idempotencyKey" | "fingerprint"> &
  Partial<Pick<CheckKeyRequest, "endpointId" | "deliveryId">>;

/** The key of a request; throws validation_error for an unknown operation. */
export function keyOf(operation: KeyedOperation, request: KeyedRequest): RequestKey {
  const { tenantId, idempotencyKey: key, fingerprint } = request;
  return { tenantId, operation: operationOf(operation, request), key, fingerprint };
}

/** The other operations belong to the mode of their endpoint. */
function operationOf(operation: KeyedOperation, request: KeyedRequest): string {
  const { mode, endpointId = "", deliveryId = "" } = request;
  switch (operation) {
    case KeyedOperation.CREATE_ENDPOINT:
      return mode === Mode.TEST ? "create|test" : "create";
    case KeyedOperation.ROTATE_SECRET:
      return `rotate|${endpointId}`;
    case KeyedOperation.RESEND_DELIVERY:
      return `resend|${endpointId}|${deliveryId}`;
    case KeyedOperation.RECOVER_DELIVERIES:
      return `recover|${endpointId}`;
    case KeyedOperation.SEND_TEST_EVENT:
      return `test|${endpointId}`;
    default:
      throw invalidField("operation", "invalid_value", "This is no operation that takes a key.");
  }
}

/** A page size; 0 means the default of 50. Throws validation_error outside 1 to 100. */
export function readLimit(limit: number, max = 100): number {
  if (limit === 0) return Math.min(50, max);
  if (limit >= 1 && limit <= max) return limit;
  throw invalidField("limit", "out_of_range", `The limit is from 1 to ${max}.`);
}
