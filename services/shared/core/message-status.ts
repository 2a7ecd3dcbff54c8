/**
 * The states of a message, as `service.md` "States and transitions" has them:
 *
 * - `scheduled`: entered at acceptance with a future send time. Funds are held. Left when that
 *   time comes (`queued`, or `failed` when tenant or sender ID no longer pass), or by a cancel.
 * - `queued`: waiting for a carrier, or being sent. Funds are held. Left when a route takes it
 *   (`sent`), when none can (`failed`), or by a cancel while it still waits.
 * - `sent`: a route accepted every segment. Charged. Left by a receipt, or after 72 hours.
 * - `delivered`: the handset has it. Nothing leaves it.
 * - `undelivered`: the network gave up. A late receipt may still say `delivered`.
 * - `expired`: no receipt within 72 hours. A late receipt may still settle it either way.
 * - `rejected`: refused at acceptance; never held, never charged. Nothing leaves it.
 * - `failed`: no route could send it. Released. Nothing leaves it.
 * - `cancelled`: cancelled before it was sent. Released. Nothing leaves it.
 */
import type { StateTable } from "./state-table.ts";

/** Every status a message can have; the set never gains a value within v1. */
export const MESSAGE_STATUSES = [
  "scheduled",
  "queued",
  "sent",
  "delivered",
  "undelivered",
  "expired",
  "rejected",
  "failed",
  "cancelled",
] as const;

/** A status of `service.md`. */
export type MessageStatus = (typeof MESSAGE_STATUSES)[number];

/** The legal moves. Acceptance itself enters `scheduled`, `queued` or `rejected`. */
export const MESSAGE_MOVES: StateTable<MessageStatus> = Object.freeze({
  scheduled: Object.freeze(["queued", "failed", "cancelled"] as const),
  queued: Object.freeze(["sent", "failed", "cancelled"] as const),
  sent: Object.freeze(["delivered", "undelivered", "expired"] as const),
  delivered: Object.freeze([]),
  undelivered: Object.freeze(["delivered"] as const),
  expired: Object.freeze(["delivered", "undelivered"] as const),
  rejected: Object.freeze([]),
  failed: Object.freeze([]),
  cancelled: Object.freeze([]),
});

/** The statuses a message may be created with. */
export const FIRST_STATUSES: readonly MessageStatus[] = ["scheduled", "queued", "rejected"];

const FINAL: ReadonlySet<MessageStatus> = new Set([
  "delivered",
  "undelivered",
  "expired",
  "rejected",
  "failed",
  "cancelled",
]);

/** Tells whether `service.md` calls the status final; a late receipt may still better it. */
export function isFinalStatus(status: MessageStatus): boolean {
  return FINAL.has(status);
}

const CHARGED: ReadonlySet<MessageStatus> = new Set([
  "sent",
  "delivered",
  "undelivered",
  "expired",
]);

/** Tells whether a message of this status has been charged: whether it was ever sent. */
export function isChargedStatus(status: MessageStatus): boolean {
  return CHARGED.has(status);
}
