/**
 * A delivery: one event on its way to one endpoint.
 *
 *   pending → succeeded | failed | dropped;  each of those → pending when it is sent again by hand
 *
 * - pending: entered when the event is stored for the endpoint. Attempts are made when due; each
 *   failure sets the next due time. Left by a success, by the last failure, or by the endpoint.
 * - succeeded: a 2xx answer came in time.
 * - failed: the last attempt of the schedule failed.
 * - dropped: the endpoint was disabled or deleted first.
 *
 * While a process works on a pending delivery it holds a lease: a random id, and a due time in
 * the future. Everything it writes is guarded by that id, so a delivery is never attempted twice
 * at once, and one whose process died is due again when the lease ends.
 */
import type { Endpoint } from "./endpoint.ts";

/** Where a delivery stands. */
export type DeliveryStatus = "pending" | "succeeded" | "failed" | "dropped";

/** Why an attempt failed; empty when it did not. */
export type AttemptError =
  | ""
  | "timeout"
  | "connection"
  | "tls"
  | "address_not_allowed"
  | "redirect"
  | "status";

/** What came of one request. */
export type RequestResult = {
  readonly error: AttemptError;
  /** 0 when no answer came. */
  readonly httpStatus: number;
  readonly durationMs: number;
  /** The first bytes of the answer's body, as text. */
  readonly answer: string;
};

/** One entry of the delivery log. */
export type Attempt = RequestResult & {
  /** Counted from 1 over the delivery's whole life. */
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
  /** When the next attempt is due; 0 once nothing is. */
  readonly nextAttemptAtMs: number;
  readonly attempts: readonly Attempt[];
  readonly createdAtMs: number;
  /** 0 while pending. */
  readonly completedAtMs: number;
};

/** A delivery that this process holds a lease on, with what an attempt needs. */
export type Claimed = {
  readonly id: string;
  readonly tenantId: string;
  readonly endpointId: string;
  readonly eventId: string;
  readonly eventType: string;
  readonly body: string;
  /** Attempts made before this one. */
  readonly attemptsMade: number;
  /** How long the answer to the attempt before this one took, in milliseconds; 0 for the first. */
  readonly lastAnswerMs: number;
  /** Attempts the schedule still has, this one included. */
  readonly attemptsLeft: number;
  /** What the delivery becomes should its last attempt fail. */
  readonly failsAs: DeliveryStatus;
  /** When the event became known, or the delivery was sent again by hand; an endpoint enabled later drops it. */
  readonly activatedAtMs: number;
  /** W3C traceparent of the event, when it is traced. */
  readonly trace?: string | undefined;
  /** Whether the text of the message is taken out of the body once the delivery has ended. */
  readonly redacts: boolean;
  /** When the attempt is to start; claimed a little earlier, so that the database is not in the way. */
  readonly dueAtMs: number;
  readonly leaseId: string;
  readonly leaseUntilMs: number;
  /** The endpoint, when it was read for this very delivery. */
  readonly asRead?: EndpointAsRead | undefined;
};

/** An endpoint as it was at a moment: before that, no stop was noted after `stopVersion`. */
export type EndpointAsRead = {
  readonly endpoint: Endpoint;
  readonly stopVersion: number;
  readonly atMs: number;
};

/** What an attempt does to its delivery. */
export type NextState =
  | { readonly status: "pending"; readonly attemptsLeft: number; readonly nextAttemptAtMs: number }
  | { readonly status: Exclude<DeliveryStatus, "pending"> };

/** The longest jitter added to a retry's due time, in milliseconds; never subtracted. */
export const RETRY_JITTER_MS_MAX = 250;

/**
 * Decides what follows an attempt. Each wait counts from the failure before it; `random` (0 to
 * 1) spreads retries a little, later and never earlier.
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

/** How many attempts a full schedule has. */
export function attemptsOf(retryDelaysMs: readonly number[]): number {
  return retryDelaysMs.length + 1;
}
