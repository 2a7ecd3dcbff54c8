/**
 * A delivery: one event for one endpoint.
 *
 *   pending → succeeded | failed | dropped;  each of those → pending when the owner resends it
 *
 * - pending: entered when the event is stored for the endpoint. An attempt is made when due; each
 *   failure sets the next due time. Ends by a success, by the last failure, or with the endpoint.
 * - succeeded: a 2xx response arrived in time.
 * - failed: the last attempt of the schedule failed.
 * - dropped: the endpoint was disabled or deleted first.
 *
 * A process that works on a pending delivery holds a lease: a random id, and a due time in the
 * future. Every write is guarded by that id, so no two processes attempt a delivery at once. When a
 * process dies, its deliveries are due again at the end of the lease.
 */
import type { Endpoint } from "./endpoint.ts";

/** The states of a delivery. */
export type DeliveryStatus = "pending" | "succeeded" | "failed" | "dropped";

/** Why an attempt failed; empty for a success. */
export type AttemptError =
  | ""
  | "timeout"
  | "connection"
  | "tls"
  | "address_not_allowed"
  | "redirect"
  | "status";

/** The result of one request. */
export type RequestResult = {
  readonly error: AttemptError;
  /** 0 when no response arrived. */
  readonly httpStatus: number;
  readonly durationMs: number;
  /** The first bytes of the response's body, as text. */
  readonly answer: string;
};

/** One entry of the delivery log. */
export type Attempt = RequestResult & {
  /** Counted from 1 over the life of the delivery. */
  readonly number: number;
  readonly startedAtMs: number;
};

/** A delivery as the log shows it. */
export type Delivery = {
  readonly id: string;
  readonly tenantId: string;
  readonly endpointId: string;
  readonly eventId: string;
  readonly eventType: string;
  readonly status: DeliveryStatus;
  /** When the next attempt is due; 0 after the last one. */
  readonly nextAttemptAtMs: number;
  readonly attempts: readonly Attempt[];
  readonly createdAtMs: number;
  /** 0 while pending. */
  readonly completedAtMs: number;
  /** The request body; absent where it was not read, or is no longer kept. */
  readonly body?: string;
};

/** A delivery that this process has leased, with everything an attempt needs. */
export type Claimed = {
  readonly id: string;
  readonly tenantId: string;
  readonly endpointId: string;
  readonly eventId: string;
  readonly eventType: string;
  readonly body: string;
  /** Attempts made before this one. */
  readonly attemptsMade: number;
  /** Duration of the last response, in milliseconds; 0 for the first attempt. */
  readonly lastAnswerMs: number;
  /** Attempts left in the schedule, this one included. */
  readonly attemptsLeft: number;
  /** The state after a last attempt that fails. */
  readonly failsAs: DeliveryStatus;
  /**
   * When the event was recorded, or the owner resent the delivery; an endpoint enabled later drops
   * it.
   */
  readonly activatedAtMs: number;
  /** W3C traceparent of the event, when it is traced. */
  readonly trace?: string | undefined;
  /** Whether the message's text is removed from the body when the delivery ends. */
  readonly redacts: boolean;
  /** When the attempt is due. The claim is a little earlier, so the database adds no delay. */
  readonly dueAtMs: number;
  readonly leaseId: string;
  readonly leaseUntilMs: number;
  /** The endpoint, when it was read for this delivery. */
  readonly asRead?: EndpointAsRead | undefined;
};

/** An endpoint as read at a time, with the version of disabled endpoints before the read. */
export type EndpointAsRead = {
  readonly endpoint: Endpoint;
  readonly stopVersion: number;
  readonly atMs: number;
};

/** The state of a delivery after an attempt. */
export type NextState =
  | { readonly status: "pending"; readonly attemptsLeft: number; readonly nextAttemptAtMs: number }
  | { readonly status: Exclude<DeliveryStatus, "pending"> };

/** The longest jitter added to the due time of a retry, in milliseconds; never subtracted. */
export const RETRY_JITTER_MS_MAX = 250;

/**
 * Decides whether a delivery is retried. Each delay counts from the failure before it. `random` (0
 * to 1) adds jitter, so a retry is later and never earlier.
 */
export function decideNextState(
  claimed: Pick<Claimed, "attemptsLeft" | "failsAs">,
  result: RequestResult,
  finishedAtMs: number,
  retryDelaysMs: readonly number[],
  random: number,
): NextState {
  if (result.error === "") return { status: "succeeded" };
  const attemptsLeft = claimed.attemptsLeft - 1;
  if (attemptsLeft <= 0) {
    return { status: claimed.failsAs === "pending" ? "failed" : claimed.failsAs };
  }
  const step = Math.max(0, retryDelaysMs.length - attemptsLeft);
  const delayMs = retryDelaysMs[step] ?? 0;
  const jitterMs = Math.floor(random * Math.min(RETRY_JITTER_MS_MAX, delayMs / 20));
  return { status: "pending", attemptsLeft, nextAttemptAtMs: finishedAtMs + delayMs + jitterMs };
}

/** Attempts of a full schedule. */
export function attemptsOf(retryDelaysMs: readonly number[]): number {
  return retryDelaysMs.length + 1;
}
