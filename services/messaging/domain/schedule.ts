import { parkOnDisabledRoute, pickNextRoute, type StandingOf } from "./choose-route.ts";
import { type Decision, type Message, moveTo, unchanged } from "./message.ts";
import type { Waits } from "./queue-transitions.ts";

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
  waits: Waits,
  rights: SendingRights,
  standingOf: StandingOf,
): Decision {
  const start = unchanged(message);
  if (!rights.tenantMaySend) return moveTo(start, "failed", nowMs, "tenant_suspended");
  if (!rights.senderIsUsable) return moveTo(start, "failed", nowMs, "sender_id_not_approved");
  const routes =
    pickNextRoute(message.routes, 0, standingOf) ?? parkOnDisabledRoute(message.routes, standingOf);
  if (routes === undefined) return moveTo(start, "failed", nowMs, "no_route");
  return moveTo(start, "queued", nowMs, undefined, {
    phase: "waiting",
    routes,
    routeAt: 0,
    notBeforeMs: 0,
    queueUntilMs: nowMs + waits.queueMs,
    dueAtMs: nowMs + waits.queueMs,
  });
}
