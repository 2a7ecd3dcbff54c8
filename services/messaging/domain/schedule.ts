import { type AvailabilityOf, parkOnDisabledRoute, pickNextRoute } from "./choose-route.ts";
import { type Decision, type Message, moveTo, unchanged } from "./message.ts";
import type { Timeouts } from "./queue-transitions.ts";

/** What must still hold of tenant and sender ID when a scheduled message is due. */
export type SendingRights = { readonly tenantMaySend: boolean; readonly senderIsUsable: boolean };

/**
 * Moves a due scheduled message into its queue, or fails it when its tenant may no longer send,
 * its sender ID can no longer be used, or all of its frozen routes were removed. While they are only
 * disabled it waits for one of them, as long as anything may wait.
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
  const routes =
    pickNextRoute(message.routes, 0, availabilityOf) ??
    parkOnDisabledRoute(message.routes, availabilityOf);
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
