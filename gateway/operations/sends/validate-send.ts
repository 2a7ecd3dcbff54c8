import { SendEndpoint } from "../../../proto/gen/sms/v1/messaging_pb.js";
import type { FieldError } from "../../../services/shared/core/errors.ts";
import { BULK_DEFAULT, SEGMENTS_MAX } from "../../../services/shared/core/limits.ts";
import { describeText, hasLoneSurrogate } from "../../../services/shared/core/segments.ts";
import type { SendKind } from "./send-operations.ts";

/**
 * A longer text (in UTF-16 code units) has more than ten segments in every encoding: none holds more than 153 units.
 * Its segments are not counted, because a text may have 4 MiB.
 */
const BODY_UNITS_MAX = SEGMENTS_MAX * 153;

/** All faults of a send's body, except those of `send_at`. */
export function validateSend(
  kind: SendKind,
  body: Record<string, unknown>,
  size: number,
  bulkMax: number,
): FieldError[] {
  const overflow = lengthFault(kind, body, bulkMax);
  // Do not validate the items of a list that is too long: there may be a million of them.
  const checked = overflow === undefined ? body : { ...body, [overflow.field]: [] };
  const faults = kind
    .validate(checked, size)
    .filter(({ field }) => overflow === undefined || field !== overflow.field);
  if (overflow !== undefined) faults.push(overflow);
  addTextFaults(checked, faults);
  return faults;
}

function lengthFault(
  kind: SendKind,
  body: Record<string, unknown>,
  bulkMax: number,
): FieldError | undefined {
  if (kind.listField === undefined) return undefined;
  const items = body[kind.listField];
  // The account's limit applies to bulk sends only (`docs/contract.md#sends`).
  const max = kind.endpoint === SendEndpoint.BULK ? bulkMax : BULK_DEFAULT;
  if (!Array.isArray(items) || items.length <= max) return undefined;
  const message = `The list must have at most ${max} items; it has ${items.length}. Split the request.`;
  return { field: kind.listField, code: "too_many", message };
}

/** Checks that a schema cannot express: lone surrogates, and the segments of a shared body. */
function addTextFaults(body: Record<string, unknown>, faults: FieldError[]): void {
  const shared = body.body;
  if (typeof shared === "string") {
    if (hasLoneSurrogate(shared)) faults.push(loneSurrogate("body"));
    else if (shared.length > BODY_UNITS_MAX || describeText(shared).segments > SEGMENTS_MAX) {
      const message = `The text needs more than ${SEGMENTS_MAX} segments. Shorten it.`;
      faults.push({ field: "body", code: "body_too_long", message });
    }
  }
  const items = body.messages;
  if (!Array.isArray(items)) return;
  items.forEach((item: unknown, at) => {
    if (typeof item !== "object" || item === null || !("body" in item)) return;
    if (typeof item.body !== "string" || !hasLoneSurrogate(item.body)) return;
    faults.push(loneSurrogate(`messages[${at}].body`));
  });
}

function loneSurrogate(field: string): FieldError {
  const message = "The text has half of a surrogate pair, such as a broken emoji.";
  return { field, code: "invalid_format", message };
}
