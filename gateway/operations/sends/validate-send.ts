import { SendEndpoint } from "../../../proto/gen/sms/v1/messaging_pb.js";
import type { FieldError } from "../../../services/shared/core/errors.ts";
import { BULK_DEFAULT, SEGMENTS_MAX } from "../../../services/shared/core/limits.ts";
import { describeText, hasLoneSurrogate } from "../../../services/shared/core/segments.ts";
import type { SendKind } from "./send-operations.ts";

/** Everything that is wrong with a send's body, except when it is to be sent. */
export function validateSend(
  kind: SendKind,
  body: Record<string, unknown>,
  size: number,
  bulkMax: number,
): FieldError[] {
  const overflow = lengthFault(kind, body, bulkMax);
  // The items of a list that is too long are not looked at: there may be a million of them.
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
  // An account's setting is of bulk sends (`decisions.md` "Request bodies").
  const max = kind.endpoint === SendEndpoint.BULK ? bulkMax : BULK_DEFAULT;
  if (!Array.isArray(items) || items.length <= max) return undefined;
  const message = `At most ${max} recipients are allowed in one request.`;
  return { field: kind.listField, code: "too_many", message };
}

/** What no schema can say: bodies are text that can be sent, and shared ones of 10 segments. */
function addTextFaults(body: Record<string, unknown>, faults: FieldError[]): void {
  const shared = body.body;
  if (typeof shared === "string") {
    if (hasLoneSurrogate(shared)) faults.push(noText("body"));
    else if (describeText(shared).segments > SEGMENTS_MAX) {
      const message = `A body has at most ${SEGMENTS_MAX} segments.`;
      faults.push({ field: "body", code: "body_too_long", message });
    }
  }
  const items = body.messages;
  if (!Array.isArray(items)) return;
  items.forEach((item: unknown, at) => {
    if (typeof item !== "object" || item === null || !("body" in item)) return;
    if (typeof item.body !== "string" || !hasLoneSurrogate(item.body)) return;
    faults.push(noText(`messages[${at}].body`));
  });
}

function noText(field: string): FieldError {
  const message = "The text holds half of a surrogate pair, which is no character.";
  return { field, code: "invalid_format", message };
}
