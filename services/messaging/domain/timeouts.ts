/**
 * What time alone makes of a message. Each state that may not last for ever has its end in
 * `dueAtMs`; when that has come:
 *
 * | state                | what happens                                                       |
 * | -------------------- | ------------------------------------------------------------------ |
 * | `scheduled`          | `queued`, when tenant and sender ID still pass and a route is left (`schedule.ts`) |
 * | `queued`, waiting    | `failed` `queue_expired`                                           |
 * | `queued`, sending    | looked at again later: a live carrier has it, its outcome decides  |
 * | `queued`, unknown    | `failed` `submission_unknown`; it is never sent again              |
 * | `sent`               | `expired` `no_receipt`                                             |
 */
import type { AvailabilityOf } from "./choose-route.ts";
import { type Decision, type Message, moveTo, unchanged } from "./message.ts";
import { isPartTaken, type Timeouts, toSent } from "./queue-transitions.ts";
import { releaseScheduled, type SendingRights } from "./schedule.ts";

/** How much later a message that a live carrier still holds is looked at again. */
const LOOK_AGAIN_MS = 60_000;

/** Applies the end of a message's present state; nothing when it has not come. */
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
      // Put in doubt by a version that did not look at the receipts.
      if (isPartTaken(message)) return toSent(message, nowMs, timeouts);
      return moveTo(unchanged(message), "failed", nowMs, "submission_unknown");
    }
    return unchanged({ ...message, dueAtMs: nowMs + LOOK_AGAIN_MS });
  }
  return unchanged({ ...message, dueAtMs: undefined });
}
