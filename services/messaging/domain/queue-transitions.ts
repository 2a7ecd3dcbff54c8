import { type AvailabilityOf, parkOnDisabledRoute, pickNextRoute } from "./choose-route.ts";
import type { ReasonCode } from "./failure-reasons.ts";
import {
  currentRoute,
  type Decision,
  type Message,
  moveTo,
  type PriorityClass,
  type SegmentReceipts,
  unchanged,
} from "./message.ts";

/** The connector that carries messages of test mode. */
export const TEST_CONNECTOR = "test";

/** How long each state may last, in milliseconds. */
export type Timeouts = {
  /** From `queued` to `failed` `queue_expired`. */
  readonly queueMs: number;
  /** From an unanswered submit to `failed` `submission_unknown`. */
  readonly unknownMs: number;
  /** From `sent` to `expired`. */
  readonly receiptMs: number;
};

/** The name of a connector's queue; priority class `single` sorts before `bulk`. */
export function queueName(connectorId: string, priority: PriorityClass): string {
  return `${connectorId}|${priority === "single" ? "1" : "2"}`;
}

/** The queue name of messages that a carrier is sending. */
export function sendingName(connectorId: string, carrierId: string): string {
  return `${connectorId}|sending|${carrierId}`;
}

/** The connector of a queue of waiting messages; undefined for messages that are being sent. */
export function waitingAt(name: string): string | undefined {
  const [connectorId, ...rest] = name.split("|");
  return rest.length === 1 ? connectorId : undefined;
}

/** The carrier of a queue of messages that are being sent; undefined for waiting messages. */
export function sentBy(name: string): string | undefined {
  const [, kind, carrierId] = name.split("|");
  return kind === "sending" ? carrierId : undefined;
}

/** The queue of a message: by connector while it waits, by carrier while it is sent. */
export function queueOf(message: Message): string | undefined {
  const connectorId = currentRoute(message)?.connectorId;
  if (message.status !== "queued" || connectorId === undefined) return undefined;
  if (message.phase === "waiting") return queueName(connectorId, message.priority);
  if (message.phase === "sending" && message.claim !== undefined) {
    return sendingName(connectorId, message.claim.carrierId);
  }
  return undefined;
}

/** The receipts without the mark that parts are missing at a carrier. */
export function withoutMissing({ isIncomplete: _, ...receipts }: SegmentReceipts): SegmentReceipts {
  return receipts;
}

/** Puts a queued message back in its queue, under the same end of its queue time. */
export function backToWaiting(message: Message, facts: Partial<Message> = {}): Decision {
  return unchanged({
    ...message,
    phase: "waiting",
    claim: undefined,
    dueAtMs: message.queueUntilMs,
    // The next submit is of the whole message.
    receipts: withoutMissing(message.receipts),
    ...facts,
  });
}

/**
 * Tries the next frozen route. If there is none, the message fails with the given reason: this is where a permanent
 * refusal ends a message.
 */
export function tryNextRoute(
  message: Message,
  availabilityOf: AvailabilityOf,
  reason: ReasonCode,
  atMs: number,
  facts: Partial<Message> = {},
): Decision {
  const routeAt = message.routeAt + 1;
  const routes = pickNextRoute(message, routeAt, availabilityOf);
  if (routes === undefined) return moveTo(unchanged(message), "failed", atMs, reason, facts);
  return backToWaiting(message, { ...facts, routes, routeAt, attempts: 0, notBeforeMs: 0 });
}

/**
 * Moves a waiting message to an available route if its own is not, or follows its own route to a new connector. The
 * number of attempts is kept, so alternately failing connectors cannot reset it.
 */
export function reroute(message: Message, availabilityOf: AvailabilityOf): Decision {
  const current = currentRoute(message);
  if (message.phase !== "waiting" || current === undefined) return unchanged(message);
  const routes = pickNextRoute(message, message.routeAt, availabilityOf);
  const next = routes?.[message.routeAt];
  if (routes === undefined || next === undefined) return unchanged(message);
  if (availabilityOf(next, message.trafficClass).state !== "available") return unchanged(message);
  return next.connectorId === current.connectorId
    ? unchanged(message)
    : unchanged({ ...message, routes, notBeforeMs: 0 });
}

/**
 * Takes a waiting message off a route that does not carry its class any more: to another of its routes, or to none
 * until one carries it.
 */
export function leaveForbiddenRoute(message: Message, availabilityOf: AvailabilityOf): Decision {
  if (message.phase !== "waiting") return unchanged(message);
  const { routeAt } = message;
  const routes =
    pickNextRoute(message, routeAt, availabilityOf) ??
    parkOnDisabledRoute(message, routeAt, availabilityOf);
  return routes === undefined || routes === message.routes
    ? unchanged(message)
    : unchanged({ ...message, routes, notBeforeMs: 0 });
}

/** Marks a message whose submit may have reached a carrier that never answered. */
export function toUnknown(
  message: Message,
  nowMs: number,
  timeouts: Timeouts,
  facts: Partial<Message> = {},
): Decision {
  return unchanged({ ...message, phase: "unknown", dueAtMs: nowMs + timeouts.unknownMs, ...facts });
}

/** True if a receipt proved that the carrier has a part while others were still being submitted. */
export function isPartTaken(message: Message): boolean {
  return message.receipts.isTaken === true;
}

/**
 * Makes a queued message `sent` over its current route, at the frozen price. Drops the other routes: none is tried
 * any more, and fifty of them take seven times the space of the rest of a message.
 */
export function toSent(
  message: Message,
  occurredMs: number,
  timeouts: Timeouts,
  facts: Partial<Message> = {},
): Decision {
  const route = currentRoute(message);
  const price = route?.price ?? 0n;
  const sentAtMs = Math.max(occurredMs, message.history.at(-1)?.atMs ?? occurredMs);
  return moveTo(unchanged(message), "sent", sentAtMs, undefined, {
    ...facts,
    sentAtMs,
    ...(route === undefined ? {} : { routes: [route], routeAt: 0 }),
    unitPrice: price,
    amount: price * BigInt(message.segments),
    dueAtMs: sentAtMs + timeouts.receiptMs,
  });
}
