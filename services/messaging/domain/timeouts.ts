/**
 * Ends states of messages by time. A state with a limited duration has its end in `dueAtMs`; then:
 *
 * | state                | what happens                                                       |
 * | -------------------- | ------------------------------------------------------------------ |
 * | `scheduled`          | `queued`, when tenant and sender ID still pass and a route is left (`schedule.ts`) |
 * | `queued`, waiting    | `failed` `queue_expired`, when its queue time has passed without quiet hours |
 * | `queued`, sending    | checked again later: a live carrier has it, its outcome decides     |
 * | `queued`, unknown    | `failed` `submission_unknown`; it is never sent again              |
 * | `sent`               | `expired` `no_receipt`                                             |
 */
import type { AvailabilityOf } from "./choose-route.ts";
import { type Decision, type Message, moveTo, unchanged } from "./message.ts";
import { isPartTaken, type Timeouts, toSent } from "./queue-transitions.ts";
import { type QuietHours, queueEnd } from "./quiet-hours.ts";
import { releaseScheduled } from "./schedule.ts";
import type { SendingRights } from "./sending-rights.ts";

/** The interval at which a message that a live carrier holds is checked again. */
const RECHECK_MS = 60_000;

/** Ends the message's state if its time has passed. */
export function applyTimeout(
  message: Message,
  nowMs: number,
  timeouts: Timeouts,
  rights: SendingRights,
  availabilityOf: AvailabilityOf,
  quietHours: QuietHours,
): Decision {
  if (message.dueAtMs === undefined || message.dueAtMs > nowMs) return unchanged(message);
  if (message.status === "scheduled") {
    return releaseScheduled(message, nowMs, timeouts, rights, availabilityOf, quietHours);
  }
  if (message.status === "sent") {
    return moveTo(unchanged(message), "expired", nowMs, "no_receipt");
  }
  if (message.status === "queued") {
    if (message.phase === "waiting") {
      if (quietHours.isUnknown === true) return unchanged(message);
      // Rules may have changed since acceptance, or the connector may have been away for a night.
      const endMs = queueEnd(message, timeouts, quietHours);
      if (endMs > nowMs) return unchanged({ ...message, queueUntilMs: endMs, dueAtMs: endMs });
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
