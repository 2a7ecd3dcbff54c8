/** The stored documents, and their mapping to and from the domain. */

import type { EventType } from "../../shared/core/event-types.ts";
import type { MessageSourceName } from "../../shared/core/message-source.ts";
import type { Attempt, Claimed, Delivery, DeliveryStatus } from "../domain/delivery.ts";
import type { Endpoint, EndpointMode, EndpointStatus } from "../domain/endpoint.ts";

/** A document of the collection `endpoints`. */
export type EndpointDocument = {
  _id: string;
  tenant_id: string;
  /** Absent from endpoints of releases without modes: they are live. */
  mode?: EndpointMode;
  /** Unique per tenant: 0 to 4 for live endpoints, 5 to 9 for test ones. No sixth can be stored. */
  slot: number;
  url: string;
  status: EndpointStatus;
  event_types: EventType[];
  sources: MessageSourceName[];
  description: string;
  disabled_reason: string;
  secrets: { sealed: string; created_at: Date; expires_at: Date | null }[];
  enabled_at: Date;
  failing_since: Date | null;
  warned_at: Date | null;
  version: number;
  created_at: Date;
  updated_at: Date;
};

/**
 * A document of the collection `deliveries`. `next_attempt_at` exists only while pending; the queue's index
 * depends on that.
 */
export type DeliveryDocument = {
  _id: string;
  tenant_id: string;
  endpoint_id: string;
  event_id: string;
  event_type: string;
  status: DeliveryStatus;
  body?: string;
  next_attempt_at?: Date;
  lease_id?: string;
  lease_owner?: string;
  /** The due time while leased. Absent when leased from the start. */
  due_at?: Date;
  attempts: AttemptDocument[];
  attempts_made: number;
  attempts_left: number;
  fails_as: DeliveryStatus;
  created_at: Date;
  activated_at: Date;
  trace?: string;
  /** Absent when the event is not about a message, and in deliveries of version 0.2.0. */
  message_id?: string;
  /** The message's text is removed from the body when the delivery ends. */
  redacts?: true;
  completed_at?: Date;
  expires_at: Date;
};

/** One attempt within a delivery. */
export type AttemptDocument = {
  number: number;
  started_at: Date;
  duration_ms: number;
  http_status: number;
  error: string;
  answer: string;
};

export function toEndpoint(document: EndpointDocument): Endpoint {
  return {
    id: document._id,
    tenantId: document.tenant_id,
    mode: document.mode ?? "live",
    url: document.url,
    status: document.status,
    eventTypes: document.event_types,
    sources: document.sources,
    description: document.description,
    disabledReason: document.disabled_reason,
    secrets: document.secrets.map((secret) => ({
      sealed: secret.sealed,
      createdAtMs: secret.created_at.getTime(),
      expiresAtMs: secret.expires_at?.getTime(),
    })),
    enabledAtMs: document.enabled_at.getTime(),
    failingSinceMs: document.failing_since?.getTime() ?? 0,
    warnedAtMs: document.warned_at?.getTime() ?? 0,
    version: document.version,
    createdAtMs: document.created_at.getTime(),
    updatedAtMs: document.updated_at.getTime(),
  };
}

/** All fields of an endpoint's document but its id and slot. */
export function toEndpointFields(endpoint: Endpoint): Omit<EndpointDocument, "_id" | "slot"> {
  return {
    tenant_id: endpoint.tenantId,
    mode: endpoint.mode,
    url: endpoint.url,
    status: endpoint.status,
    event_types: [...endpoint.eventTypes],
    sources: [...endpoint.sources],
    description: endpoint.description,
    disabled_reason: endpoint.disabledReason,
    secrets: endpoint.secrets.map((secret) => ({
      sealed: secret.sealed,
      created_at: new Date(secret.createdAtMs),
      expires_at: secret.expiresAtMs === undefined ? null : new Date(secret.expiresAtMs),
    })),
    enabled_at: new Date(endpoint.enabledAtMs),
    failing_since: dateOrNull(endpoint.failingSinceMs),
    warned_at: dateOrNull(endpoint.warnedAtMs),
    version: endpoint.version,
    created_at: new Date(endpoint.createdAtMs),
    updated_at: new Date(endpoint.updatedAtMs),
  };
}

export function toDelivery(document: DeliveryDocument): Delivery {
  return {
    id: document._id,
    tenantId: document.tenant_id,
    endpointId: document.endpoint_id,
    eventId: document.event_id,
    eventType: document.event_type,
    status: document.status,
    // The end of a lease is not a due time.
    nextAttemptAtMs:
      (document.lease_id ? document.due_at : document.next_attempt_at)?.getTime() ?? 0,
    attempts: document.attempts.map(toAttempt),
    createdAtMs: document.created_at.getTime(),
    completedAtMs: document.completed_at?.getTime() ?? 0,
  };
}

/** A delivery that was just leased. */
export function toClaimed(document: DeliveryDocument): Claimed {
  return {
    id: document._id,
    tenantId: document.tenant_id,
    endpointId: document.endpoint_id,
    eventId: document.event_id,
    eventType: document.event_type,
    body: document.body ?? "",
    attemptsMade: document.attempts_made,
    lastAnswerMs: document.attempts.at(-1)?.duration_ms ?? 0,
    attemptsLeft: document.attempts_left,
    failsAs: document.fails_as,
    activatedAtMs: document.activated_at.getTime(),
    trace: document.trace,
    redacts: document.redacts === true,
    dueAtMs: document.due_at?.getTime() ?? 0,
    leaseId: document.lease_id ?? "",
    leaseUntilMs: document.next_attempt_at?.getTime() ?? 0,
  };
}

export function toAttemptDocument(attempt: Attempt): AttemptDocument {
  return {
    number: attempt.number,
    started_at: new Date(attempt.startedAtMs),
    duration_ms: attempt.durationMs,
    http_status: attempt.httpStatus,
    error: attempt.error,
    answer: attempt.answer,
  };
}

function toAttempt(document: AttemptDocument): Attempt {
  return {
    number: document.number,
    startedAtMs: document.started_at.getTime(),
    durationMs: document.duration_ms,
    httpStatus: document.http_status,
    error: document.error as Attempt["error"],
    answer: document.answer,
  };
}

function dateOrNull(atMs: number): Date | null {
  return atMs === 0 ? null : new Date(atMs);
}
