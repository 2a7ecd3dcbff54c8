/** Tables of the guides about messages: statuses, segments, test numbers (`docs/contract.md`). */
import {
  isChargedStatus,
  isFinalStatus,
  MESSAGE_MOVES,
  MESSAGE_STATUSES,
  type MessageStatus,
} from "../../../services/shared/core/message-status.ts";
import { markdownTable } from "../site/markdown-table.ts";

/** The meaning of each status; its transitions are in the transition table. */
const MEANINGS: Readonly<Record<MessageStatus, string>> = {
  scheduled: "Accepted, to be sent at `send_at`.",
  queued: "Accepted, and waiting to be sent or being sent.",
  sent: "A route has taken it; its receipt is awaited.",
  delivered: "The phone has it.",
  undelivered:
    "The network could not deliver it. Final, but a late receipt may still say delivered.",
  expired: "No receipt came within 72 hours. Final, but a late receipt may still come.",
  rejected:
    "Refused before any route had it: a recipient of a bulk or batch send failed its own checks.",
  failed: "No route could send it.",
  cancelled: "Cancelled before it was sent.",
};

const SEGMENTS_NOTE =
  "Of the GSM 7-bit characters `^`, `{`, `}`, `[`, `]`, `~`, `\\`, `|` and `€` count as two; so does an " +
  "emoji in UCS-2. Neither is split between segments.";

const SEGMENTS: readonly (readonly [string, string, string])[] = [
  ["GSM 7-bit characters only", "160", "153"],
  ["any other character (UCS-2), such as ₦ or an emoji", "70", "67"],
];

/** Results of test numbers, by the last four digits of the recipient (`docs/contract.md#test-mode`). */
const TEST_NUMBERS: Readonly<Record<string, string>> = {
  "9901": "`undelivered`, `absent_subscriber`",
  "9902": "`undelivered`, `unknown_subscriber`",
  "9903": "`failed`, `carrier_rejected`: refused for good",
  "9904": "throttled twice, then delivered",
  "9905": "no receipt ever: `sent`, and `expired` after 72 hours",
  "9906": "`undelivered`, then `delivered` two seconds later",
  "9907": "delivered; its receipt comes before the answer to its submit",
  "9908": "no answer to its submit, but a receipt after three seconds: delivered",
  "9909": "neither answer nor receipt: `failed`, `submission_unknown`, after ten minutes",
  "9910": "`undelivered`, `validity_expired`",
  "9911": "the link drops at every submit: `failed`, `submission_unknown`, after ten minutes",
  "9912": "a system error first, then delivered",
  "9913": "a full queue for five seconds, then delivered",
  "9914": "delivered, with the same receipt three times",
  "9915": "delivered, with the id in another form in its receipt",
  "9916": "`failed`, `dnd_blocked`: the recipient is on a do-not-disturb list",
};

/** Every status with its meaning, the statuses that may follow, and its money. */
export function statusTable(): string {
  return markdownTable(
    ["Status", "Meaning", "May become", "Money"],
    MESSAGE_STATUSES.map((status) => [
      `\`${status}\``,
      MEANINGS[status],
      movesOf(status),
      moneyOf(status),
    ]),
  );
}

/** The lengths of segments. */
export function segmentTable(): string {
  return `${markdownTable(["Text of", "Characters in one segment", "In each of several"], SEGMENTS)}

${SEGMENTS_NOTE}`;
}

/** The result of each test number. */
export function testNumberTable(): string {
  return markdownTable(
    ["Last four digits", "Result"],
    Object.entries(TEST_NUMBERS).map(([digits, text]) => [`\`${digits}\``, text]),
  );
}

function movesOf(status: MessageStatus): string {
  const next = MESSAGE_MOVES[status].map((one) => `\`${one}\``);
  return next.length === 0 ? "nothing" : next.join(", ");
}

function moneyOf(status: MessageStatus): string {
  if (isChargedStatus(status)) return "charged";
  return isFinalStatus(status) ? "not charged" : "held";
}
