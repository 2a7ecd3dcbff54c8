/**
 * The states of a message (`docs/contract.md#statuses`):
 *
 * - `scheduled`: entered at acceptance with a future send time. Funds are held. Left at that time (`queued`, or
 *   `failed` when the tenant or sender ID is no longer allowed), or by a cancel.
 * - `queued`: waiting for a carrier, or being sent. Funds are held. Left when a route accepts it (`sent`), when
 *   no route can (`failed`), or by a cancel while it still waits.
 * - `sent`: a route accepted every segment. Charged. Left by a receipt, or after 72 hours.
 * - `delivered`: the handset has it. Final.
 * - `undelivered`: the network gave up. A late receipt may still change it to `delivered`.
 * - `expired`: no receipt within 72 hours. A late receipt may still change it to either result.
 * - `rejected`: refused at acceptance; never held, never charged. Final.
 * - `failed`: no route could send it. Released. Final.
 * - `cancelled`: cancelled before it was sent. Released. Final.
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

/** One message status. */
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

/** The statuses before a route has taken the message: its funds are held, and it can be cancelled. */
export const OPEN_STATUSES = ["scheduled", "queued"] as const satisfies readonly MessageStatus[];

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

/** True for a status that the contract calls final; a late receipt may still correct it. */
export function isFinalStatus(status: MessageStatus): boolean {
  return FINAL.has(status);
}

const CHARGED: ReadonlySet<MessageStatus> = new Set([
  "sent",
  "delivered",
  "undelivered",
  "expired",
]);

/** True when a message of this status has been charged, that is, was sent at some time. */
export function isChargedStatus(status: MessageStatus): boolean {
  return CHARGED.has(status);
}
