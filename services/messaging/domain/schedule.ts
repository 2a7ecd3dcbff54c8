import { type AvailabilityOf, parkOnDisabledRoute, pickNextRoute } from "./choose-route.ts";
import { type Decision, type Message, moveTo, unchanged } from "./message.ts";
import type { Timeouts } from "./queue-transitions.ts";
import { openTimeEnd, type QuietHours } from "./quiet-hours.ts";
import { missingRight, type SendingRights } from "./sending-rights.ts";

/**
 * Moves a due scheduled message into its queue. Fails it if its tenant may no longer send, its sender ID is no longer
 * usable, its recipient has opted out, or all its frozen routes were removed. If the routes are only disabled, it waits
 * within its queue time.
 */
export function releaseScheduled(
  message: Message,
  nowMs: number,
  timeouts: Timeouts,
  rights: SendingRights,
  availabilityOf: AvailabilityOf,
  quietHours: QuietHours,
): Decision {
  const start = unchanged(message);
  const missing = missingRight(rights);
  if (missing !== undefined) return moveTo(start, "failed", nowMs, missing);
  const routes =
    pickNextRoute(message, 0, availabilityOf) ?? parkOnDisabledRoute(message, 0, availabilityOf);
  if (routes === undefined) return moveTo(start, "failed", nowMs, "no_route");
  const queueUntilMs = openTimeEnd(message, nowMs, timeouts.queueMs, quietHours);
  return moveTo(start, "queued", nowMs, undefined, {
    phase: "waiting",
    routes,
    routeAt: 0,
    notBeforeMs: 0,
    queueUntilMs,
    dueAtMs: queueUntilMs,
  });
}
