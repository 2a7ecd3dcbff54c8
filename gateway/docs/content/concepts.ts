/** The introduction of the reference: statuses, money, segments, test mode (`docs/contract.md`). */
import {
  isChargedStatus,
  isFinalStatus,
  MESSAGE_MOVES,
  MESSAGE_STATUSES,
  type MessageStatus,
} from "../../../services/shared/core/message-status.ts";
import { type Html, html, prose, row } from "../html.ts";

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

const MONEY: readonly string[] = [
  "A send holds the most that its messages can cost: segments times the highest price among the " +
    "routes that can carry each. What is held is not in `available`.",
  "A message that is sent is charged the price of the route that carried it, never more than was " +
    "held, and keeps that charge if it is not delivered.",
  "One that is rejected, failed or cancelled is not charged. What is not charged is back in " +
    "`available` within about a minute.",
  "A send is all or nothing: where `available` does not cover all recipients that pass, nothing is " +
    "accepted (`insufficient_balance`).",
];

const SEGMENTS_NOTE =
  "A text is sent in up to 10 segments, each of which has its price. Of the GSM 7-bit characters " +
  "`^ { } [ ] ~ \\ | €` count as two; so does an emoji in UCS-2.";

const SEGMENTS: readonly (readonly [string, string, string])[] = [
  ["GSM 7-bit characters alone", "160", "153"],
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
};

/** The sections, each with its own id. */
export function conceptSections(): Html {
  return html`<h2 id="statuses">Statuses</h2>
<table><tr><th>Status</th><th>Meaning</th><th>May become</th><th>Money</th></tr>
${MESSAGE_STATUSES.map((status) =>
  row(html`<code>${status}</code>`, prose(MEANINGS[status]), movesOf(status), moneyOf(status)),
)}
</table>
<h2 id="money">Money</h2>
<ul>
${MONEY.map((text) => html`<li>${prose(text)}</li>`)}
</ul>
<h2 id="segments">Segments</h2>
<p>${prose(SEGMENTS_NOTE)}</p>
<table><tr><th>Text of</th><th>Characters in one segment</th><th>In each of several</th></tr>
${SEGMENTS.map((cells) => row(...cells))}
</table>
<h2 id="test-mode">Test mode</h2>
<p>${prose(TEST_MODE)}</p>
<table><tr><th>Last four digits</th><th>What becomes of the message</th></tr>
${Object.entries(TEST_NUMBERS).map(([digits, text]) => row(html`<code>${digits}</code>`, prose(text)))}
</table>`;
}

const TEST_MODE =
  "Messages of a key that begins with `sk_test_` reach no phone and cost nothing: a simulated carrier " +
  "takes them, and the last four digits of the recipient decide what becomes of each. Every other " +
  "number is delivered after a second. A key sees the messages and the webhook endpoints of its own mode " +
  "alone, and each mode has five endpoints of its own. Events of a message or a campaign go to the " +
  "endpoints of its `mode`; events of wallets and sender IDs go to live endpoints.";

function movesOf(status: MessageStatus): Html {
  const next = MESSAGE_MOVES[status].map((one) => `\`${one}\``);
  return prose(next.length === 0 ? "nothing" : next.join(", "));
}

function moneyOf(status: MessageStatus): string {
  if (isChargedStatus(status)) return "charged";
  return isFinalStatus(status) ? "not charged" : "held";
}
