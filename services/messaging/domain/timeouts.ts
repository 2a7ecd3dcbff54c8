/**
 * Ends states of messages by time. A state with a limited duration has its end in `dueAtMs`; then:
 *
 * | state                | what happens                                                       |
 * | -------------------- | ------------------------------------------------------------------ |
 * | `scheduled`          | `queued`, when tenant and sender ID still pass and a route is left (`schedule.ts`) |
 * | `queued`, waiting    | `failed` `queue_expired`                                           |
 * | `queued`, sending    | checked again later: a live carrier has it, its outcome decides     |
 * | `queued`, unknown    | `failed` `submission_unknown`; it is never sent again              |
 * | `sent`               | `expired` `no_receipt`                                             |
 */
import type { AvailabilityOf } from "./choose-route.ts";
import { type Decision, type Message, moveTo, unchanged } from "./message.ts";
import { isPartTaken, type Timeouts, toSent } from "./queue-transitions.ts";
import { releaseScheduled, type SendingRights } from "./schedule.ts";

/** The interval at which a message that a live carrier holds is checked again. */
const RECHECK_MS = 60_000;

/** Ends the message's state if its time has passed. */
export function applyTimeout(
  message: Message,
  nowMs: number,
  timeouts: Timeouts,
  rights: SendingRights,
  availabilityOf: AvailabilityOf,
): Decision {
  if (message.dueAtMs === undefined || message.dueAtMs > nowMs) return unchanged(message);
  if (message.status === "scheduled") {
    return releaseScheduled(message, nowMs, timeouts, rights, availabilityOf);
  }
  if (message.status === "sent") {
    return moveTo(unchanged(message), "expired", nowMs, "no_receipt");
  }
  if (message.status === "queued") {
    if (message.phase === "waiting") {
      return moveTo(unchanged(message), "failed", nowMs, "queue_expired");
    }
    if (message.phase === "unknown") {
      // Older versions marked messages as unknown without regard to receipts.
      if (isPartTaken(message)) return toSent(message, nowMs, timeouts);
      return moveTo(unchanged(message), "failed", nowMs, "submission_unknown");
    }
    return unchanged({ ...message, dueAtMs: nowMs + RECHECK_MS });
  }
  return unchanged({ ...message, dueAtMs: undefined });
}
