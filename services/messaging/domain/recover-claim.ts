/**
 * What becomes of claimed messages whose carrier died. A restarted carrier knows from its journal
 * which bytes it may have written; a carrier that stays silent takes that knowledge with it.
 */
import { type Decision, type Message, unchanged } from "./message.ts";
import {
  backToWaiting,
  isPartTaken,
  type Timeouts,
  toSent,
  toUnknown,
} from "./queue-transitions.ts";

/** A message that this carrier was sending before `beforeMs`. */
export function isHeldBy(message: Message, carrierId: string, beforeMs: number): boolean {
  return (
    message.status === "queued" &&
    message.phase === "sending" &&
    message.claim?.carrierId === carrierId &&
    message.claim.atMs <= beforeMs
  );
}

/**
 * Gives a claim back when nothing of it was written; what may have been written is in doubt, unless the
 * carrier has shown to have a part: then it is `sent`.
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
