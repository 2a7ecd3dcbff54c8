/** Checks what a customer writes into a draft (`docs/contract.md#campaigns`). */

import type { FieldError } from "../../shared/core/errors.ts";
import { hasLoneSurrogate } from "../../shared/core/segments.ts";
import { CLIENT_REFERENCE, SENDER_NAME } from "../../shared/core/text-forms.ts";
import type { CampaignContent } from "./campaign.ts";
import { parseTemplate } from "./template.ts";

const NAME_CHARS_MAX = 100;
const BODY_CHARS_MAX = 16_000;
const RATE_MAX = 10_000;
const SEND_AT_MIN_MS = 60_000;
const SEND_AT_MAX_MS = 90 * 86_400_000;
/** The tolerance for `sendAtMs`: the gateway checked it a moment ago, and this check must agree. */
const SEND_AT_SLACK_MS = 5000;

/** Every wrong field; empty when the content is valid. */
export function contentFaults(content: CampaignContent, nowMs: number): FieldError[] {
  const faults: FieldError[] = [];
  const add = (field: string, code: string, message: string) =>
    void faults.push({ field, code, message });
  const { name, from, body, sendAtMs, ratePerSecond, budget, clientReference } = content;
  if (name.trim() === "") add("name", "too_short", "A campaign has a name.");
  if (name.length > NAME_CHARS_MAX) {
    add("name", "too_long", `A name has at most ${NAME_CHARS_MAX} characters.`);
  }
  if (!SENDER_NAME.test(from)) {
    add(
      "from",
      "invalid_format",
      "A sender ID has 3 to 11 letters, digits, spaces, dots or dashes.",
    );
  }
  checkBody(body, add);
  if (sendAtMs !== undefined) {
    const aheadMs = sendAtMs - nowMs;
    if (
      aheadMs < SEND_AT_MIN_MS - SEND_AT_SLACK_MS ||
      aheadMs > SEND_AT_MAX_MS + SEND_AT_SLACK_MS
    ) {
      add("send_at", "out_of_range", "A campaign can be scheduled from 1 minute to 90 days ahead.");
    }
  }
  if (ratePerSecond !== undefined && !isWhole(ratePerSecond, 1, RATE_MAX)) {
    add("rate_per_second", "out_of_range", `A rate is 1 to ${RATE_MAX} messages per second.`);
  }
  if (budget !== undefined && budget <= 0n) {
    add("budget_amount", "out_of_range", "A budget is more than zero.");
  }
  if (clientReference !== undefined && !CLIENT_REFERENCE.test(clientReference)) {
    add(
      "client_reference",
      "invalid_format",
      "A reference has 1 to 64 printable ASCII characters.",
    );
  }
  return faults;
}

type Add = (field: string, code: string, message: string) => void;

function checkBody(body: string, add: Add): void {
  const template = parseTemplate(body);
  if (body === "") add("body", "too_short", "A body has at least one character.");
  else if (body.length > BODY_CHARS_MAX) {
    add("body", "too_long", `A body has at most ${BODY_CHARS_MAX} characters.`);
  } else if (hasLoneSurrogate(body)) {
    add("body", "invalid_value", "The body holds half of a surrogate pair, which is no text.");
  } else if ("fault" in template) {
    const found = JSON.stringify(template.fault);
    add("body", "invalid_placeholder", `${found} is no placeholder: write {{name}}.`);
  }
}

function isWhole(value: number, least: number, most: number): boolean {
  return Number.isInteger(value) && value >= least && value <= most;
}
