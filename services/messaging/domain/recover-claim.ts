/**
 * Recovers claimed messages of a dead carrier. A restarted carrier knows from its journal which messages it may have
 * written; a carrier that stays silent does not report it.
 */
import { type Decision, type Message, unchanged } from "./message.ts";
import {
  backToWaiting,
  isPartTaken,
  type Timeouts,
  toSent,
  toUnknown,
} from "./queue-transitions.ts";

/** True if this carrier has been sending the message since before `beforeMs`. */
export function isHeldBy(message: Message, carrierId: string, beforeMs: number): boolean {
  return (
    message.status === "queued" &&
    message.phase === "sending" &&
    message.claim?.carrierId === carrierId &&
    message.claim.atMs <= beforeMs
  );
}

/** True if this carrier may still submit the other parts of a message of which it has written some. */
export function isPartlyWritten(
  { status, phase, claim, receipts }: Message,
  carrierId: string,
): boolean {
  const isOpen = status === "sent" || (status === "queued" && phase === "unknown");
  return isOpen && claim?.carrierId === carrierId && receipts.isIncomplete !== true;
}

/**
 * Returns a message to its queue if nothing of it was written. A message that may have been written is unknown,
 * unless a receipt proved that the carrier has a part: then it is `sent`.
 */
export function recoverClaim(
  message: Message,
  claimHolder: { readonly carrierId: string; readonly beforeMs: number },
  wasWritten: boolean,
  nowMs: number,
  timeouts: Timeouts,
): Decision {
  if (!isHeldBy(message, claimHolder.carrierId, claimHolder.beforeMs)) return unchanged(message);
  if (isPartTaken(message)) return toSent(message, nowMs, timeouts);
  return wasWritten ? toUnknown(message, nowMs, timeouts) : backToWaiting(message);
}
