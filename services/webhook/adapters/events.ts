/** Events from the stream, and from the dead letters when an operator replays them. */
import { fromBinary } from "@bufbuild/protobuf";
import { EventSchema } from "../../../proto/gen/sms/v1/events_pb.js";
import { isId } from "../../shared/core/ids.ts";
import { ACK, type Acknowledgement, type Delivered } from "../../shared/io/consumer.ts";
import { recordedTrace } from "../../shared/io/tracing.ts";
import type { Item } from "../app/deliver-events.ts";
import { UndeliverableError } from "../app/ports.ts";
import { type WebhookEvent, webhookEventsOf } from "../domain/event-fan-out.ts";
import { NewerEventError, toDomainEvent } from "./proto-events.ts";

/** The durable consumer's name on the stream. */
export const DURABLE = "webhook-deliver";

/** Every event that may become a webhook. */
export const SUBJECTS = ["events.>"] as const;

/** How often an event that the database refuses is tried before it becomes a dead letter. */
const DELIVERIES_MAX = 10;
const RETRY_AFTER_MS = 5000;

/** An event that only a newer version can read is retried during a rollout, for an hour. */
const NEWER_DELIVERIES_MAX = 120;
const NEWER_RETRY_AFTER_MS = 30_000;

/**
 * Events of a newer version that wait per process. Each uses one of the consumer's places for unacknowledged
 * events; without a free place no other event is delivered. Further ones become dead letters.
 */
const NEWER_WAITING_MAX = 500;

/** Stores the deliveries of events; see `deliverEvents`. */
export type Deliver = (items: readonly Item[]) => Promise<readonly (Error | undefined)[]>;

/** Handles a batch of events: one acknowledgement each. */
export type EventHandler = (items: readonly Delivered[]) => Promise<readonly Acknowledgement[]>;

/**
 * An unreadable event becomes a dead letter at once. An event of a newer version is retried for an
 * hour.
 */
export function createEventHandler(deliver: Deliver): EventHandler {
  const mayWait = createAllowance(NEWER_WAITING_MAX, NEWER_RETRY_AFTER_MS);
  return async (items) => {
    const read = items.map(({ data }) => readNotices(data));
    const faults = await deliver(
      read.map((events, at) => ({
        events: events instanceof Error ? [] : events,
        isRepeated: (items[at]?.deliveries ?? 1) > 1,
      })),
    );
    return items.map(({ deliveries }, at): Acknowledgement => {
      const events = read[at];
      const fault = events instanceof Error ? events : faults[at];
      if (fault === undefined) return ACK;
      return toAcknowledgement(fault, deliveries, mayWait);
    });
  };
}

function toAcknowledgement(
  fault: Error,
  deliveries: number,
  mayWait: () => boolean,
): Acknowledgement {
  const dead: Acknowledgement = { kind: "dead", reason: fault.message };
  if (fault instanceof NewerEventError) {
    if (deliveries >= NEWER_DELIVERIES_MAX || !mayWait()) return dead;
    return { kind: "retry", afterMs: NEWER_RETRY_AFTER_MS };
  }
  const isHopeless = fault instanceof UnreadableError || fault instanceof UndeliverableError;
  if (isHopeless || deliveries >= DELIVERIES_MAX) return dead;
  return { kind: "retry", afterMs: RETRY_AFTER_MS };
}

/** Returns true at most `max` times within each `windowMs`. */
function createAllowance(max: number, windowMs: number): () => boolean {
  let used = 0;
  let endsAtMs = 0;
  return () => {
    const nowMs = performance.now();
    if (nowMs >= endsAtMs) {
      used = 0;
      endsAtMs = nowMs + windowMs;
    }
    used += 1;
    return used <= max;
  };
}

/** The event cannot be read by any version. */
class UnreadableError extends Error {}

/** The webhook events of one entry of the stream, or the error that keeps it from being read. */
export function readNotices(data: Uint8Array): readonly WebhookEvent[] | Error {
  try {
    const event = fromBinary(EventSchema, data);
    if (!isId("event", event.id)) return new UnreadableError("the event has no id");
    const change = toDomainEvent(event);
    const trace = recordedTrace(event.traceparent || undefined);
    const events = webhookEventsOf(change);
    return trace === undefined ? events : events.map((event) => ({ ...event, trace }));
  } catch (error) {
    if (error instanceof NewerEventError) return error;
    return new UnreadableError("the event cannot be read", { cause: error });
  }
}
