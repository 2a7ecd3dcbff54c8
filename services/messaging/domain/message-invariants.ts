import {
  FIRST_STATUSES,
  isChargedStatus,
  MESSAGE_MOVES,
} from "../../shared/core/message-status.ts";
import { isLegalMove } from "../../shared/core/state-table.ts";
import type { Message } from "./message.ts";

/** A violated invariant: its number in `docs/invariants.md`, and a description. */
export type Breach = { readonly invariant: number; readonly what: string };

/** The fields of a message that its check reads. */
export type CheckedMessage = Pick<
  Message,
  | "id"
  | "status"
  | "phase"
  | "history"
  | "heldAmount"
  | "amount"
  | "reservationId"
  | "sentAtMs"
  | "claim"
>;

/**
 * The longest time from a submit to `sent`: the other parts follow for 8 minutes, and a receipt may prove a submit
 * without an answer for 10.
 */
const SUBMIT_TO_SENT_MAX_MS = 1_200_000;

/** The fields of a message that determine its charge. */
export type MessageCharge = Pick<
  Message,
  "id" | "tenantId" | "mode" | "status" | "heldAmount" | "amount" | "reservationId" | "updatedAtMs"
>;

/** Checks one stored message against the invariants of a single message. */
export function checkMessage(message: CheckedMessage): Breach[] {
  const breaches: Breach[] = [];
  const add = (invariant: number, what: string) => void breaches.push({ invariant, what });
  const { history, status, amount, heldAmount, phase } = message;
  const [first] = history;
  if (first === undefined || !FIRST_STATUSES.includes(first.status)) {
    add(5, "the history does not begin with acceptance");
  }
  history.forEach((change, at) => {
    const before = history[at - 1];
    if (before === undefined) return;
    if (!isLegalMove(MESSAGE_MOVES, before.status, change.status)) {
      add(5, `${before.status} became ${change.status}`);
    }
    if (change.atMs < before.atMs) add(5, "the history runs backwards");
  });
  if (history.at(-1)?.status !== status) add(5, "the history does not end with the status");
  if ((phase !== undefined) !== (status === "queued")) add(5, "the phase does not fit the status");
  const wasSent = history.some((change) => change.status === "sent");
  if (wasSent !== isChargedStatus(status)) add(2, "charged without being sent, or the reverse");
  if ((amount !== undefined) !== wasSent) add(2, "the amount does not fit the status");
  if (amount !== undefined && amount > heldAmount) add(2, "the amount exceeds the hold");
  if (heldAmount > 0n && message.reservationId === undefined) {
    add(3, "funds are held under no reservation");
  }
  const openUntilMs = message.claim?.openSpan?.untilMs ?? Number.POSITIVE_INFINITY;
  if ((message.sentAtMs ?? 0) > openUntilMs + SUBMIT_TO_SENT_MAX_MS) {
    add(14, "sent in its recipient's quiet hours");
  }
  return breaches;
}

/** True if a message has ever been sent. */
export function wasEverSent(message: Pick<Message, "status">): boolean {
  return isChargedStatus(message.status);
}
