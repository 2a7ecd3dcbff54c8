import { type AvailabilityOf, parkOnDisabledRoute, pickNextRoute } from "./choose-route.ts";
import { type Decision, type Message, moveTo, unchanged } from "./message.ts";
import type { Timeouts } from "./queue-transitions.ts";

/** The conditions on tenant and sender ID when a scheduled message is due. */
export type SendingRights = {
  readonly tenantMaySend: boolean;
  readonly senderIsUsable: boolean;
  /** False when the recipient has opted out. */
  readonly recipientAllows: boolean;
};

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
): Decision {
  const start = unchanged(message);
  if (!rights.tenantMaySend) return moveTo(start, "failed", nowMs, "tenant_suspended");
  if (!rights.senderIsUsable) return moveTo(start, "failed", nowMs, "sender_id_not_approved");
  if (!rights.recipientAllows) return moveTo(start, "failed", nowMs, "recipient_opted_out");
  const routes =
    pickNextRoute(message, 0, availabilityOf) ?? parkOnDisabledRoute(message, 0, availabilityOf);
  if (routes === undefined) return moveTo(start, "failed", nowMs, "no_route");
  return moveTo(start, "queued", nowMs, undefined, {
    phase: "waiting",
    routes,
    routeAt: 0,
    notBeforeMs: 0,
    queueUntilMs: nowMs + timeouts.queueMs,
    dueAtMs: nowMs + timeouts.queueMs,
  });
}
