/** Whether the run brought anything about: a service that does nothing breaks no other promise. */
import type { FoundBreach } from "../../services/smsctl/check/report.ts";
import { errorCodeOf, type MessageRow } from "./database-reader.ts";
import { isPlainNumber } from "./orders.ts";

/** Of the messages to plain numbers; a half-hour storm leaves more than 19 of 20. */
const DELIVERED_SHARE_MIN = 0.5;

/**
 * Messages in doubt, of those that went to a carrier; half-hour storms leave one of 20. One link that
 * goes dark strands a whole window at once, which is much of a short run.
 */
const UNKNOWN_SHARE_MAX = 0.25;
const UNKNOWN_ALWAYS_MAX = 100;

/** Orders were accepted, what was accepted was mostly delivered, and little of it ended in doubt. */
export function checkYield(messages: readonly MessageRow[], accepted: number): FoundBreach[] {
  const found: FoundBreach[] = [];
  const add = (what: string) => void found.push({ invariant: 3, what, ids: [] });
  if (accepted === 0) add("no order was accepted");
  const tried = messages.filter(
    ({ mode, status }) => mode !== "test" && status !== "rejected" && status !== "cancelled",
  );
  const plain = tried.filter(({ to }) => isPlainNumber(to));
  const delivered = plain.filter(({ status }) => status === "delivered").length;
  if (delivered === 0) add("no message was delivered");
  else if (delivered < DELIVERED_SHARE_MIN * plain.length) {
    add(`only ${delivered} of ${plain.length} messages to plain numbers were delivered`);
  }
  const unknown = tried.filter(isUnknown).length;
  if (unknown > Math.max(UNKNOWN_ALWAYS_MAX, UNKNOWN_SHARE_MAX * tried.length)) {
    add(`${unknown} of ${tried.length} messages ended with submission_unknown`);
  }
  return found;
}

function isUnknown(message: MessageRow): boolean {
  return message.status === "failed" && errorCodeOf(message) === "submission_unknown";
}
