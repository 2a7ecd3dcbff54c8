import { AppError, type FieldError } from "../../shared/core/errors.ts";
import { durationInWords } from "../../shared/core/format-duration.ts";
import { BULK_DEFAULT, RECIPIENT_CHARS_MAX, SEGMENTS_MAX } from "../../shared/core/limits.ts";
import type { MessageSourceName } from "../../shared/core/message-source.ts";
import { describeText, hasLoneSurrogate } from "../../shared/core/segments.ts";
import { CLIENT_REFERENCE, SENDER_NAME } from "../../shared/core/text-forms.ts";
import type { TrafficClass } from "../../shared/core/traffic-class.ts";
import type { MessageMode } from "./message.ts";

/** The endpoint of a send: idempotency keys belong to it, and single sends have another response. */
export type SendEndpoint = "single" | "bulk" | "batch" | "campaign";

/** True when each recipient has a body of its own. */
export function hasOwnBodies(endpoint: SendEndpoint): boolean {
  return endpoint === "batch" || endpoint === "campaign";
}

/** One submitted recipient; batches use the optional fields. */
export type RequestedRecipient = {
  readonly to: string;
  readonly body: string | undefined;
  readonly clientReference: string | undefined;
};

/** One request to send to one or many recipients. */
export type SendRequest = {
  readonly tenantId: string;
  readonly mode: MessageMode;
  readonly source: MessageSourceName;
  readonly campaignId: string | undefined;
  /** The API key of the customer who sends. */
  readonly keyId?: string | undefined;
  readonly endpoint: SendEndpoint;
  readonly key: string | undefined;
  readonly fingerprint: Uint8Array;
  /** The caller holds a lock on the key while this request runs. */
  readonly isLocked: boolean;
  readonly from: string;
  readonly body: string;
  readonly clientReference: string | undefined;
  readonly sendAtMs: number | undefined;
  /** True when the gateway has checked `sendAtMs`; otherwise it is as the caller wrote it. */
  readonly isCheckedAtGateway: boolean;
  readonly recipients: readonly RequestedRecipient[];
  /** Undefined means the sender ID's own class. */
  readonly trafficClass?: TrafficClass | undefined;
  /** Undefined means the tenant's policy. */
  readonly rejectsInQuietHours?: boolean | undefined;
  /** Confirms an opt-out: sent although its recipient has opted out. */
  readonly isConsentReply?: boolean;
  /** The most that the send may hold, in 1/10,000 of the currency unit. */
  readonly heldAmountMax?: bigint | undefined;
};

/** The latest `send_at`: 90 days ahead (`docs/contract.md#scheduling`). */
const SEND_AT_MAX_MS = 90 * 86_400_000;
/**
 * Tolerance of the bounds of `send_at`, in milliseconds. The gateway checked the instant a moment ago, and this check
 * must agree. An instant that was a minute ahead when its caller wrote it is slightly less when it arrives.
 */
const SEND_AT_SLACK_MS = {
  edge: { soon: 5000, late: 5000 },
  caller: { soon: 1000, late: 0 },
} as const;

const TENANT_ID_MAX = 64;

/**
 * Checks a request without regard to its tenant. Throws one `validation_error` that names every wrong field. Each
 * recipient is checked later (`build-messages.ts`).
 */
export function checkRequest(request: SendRequest, nowMs: number, sendAtMinMs: number): void {
  const errors: FieldError[] = [];
  const add = (field: string, code: string, message: string) =>
    void errors.push({ field, code, message });
  // Limit the length, because this process caches lookups of tenants, found or not.
  if (request.tenantId.length > TENANT_ID_MAX) {
    add("tenant_id", "too_long", `A tenant's id has at most ${TENANT_ID_MAX} characters.`);
  }
  if (!SENDER_NAME.test(request.from)) {
    add(
      "from",
      "invalid_format",
      "A sender ID has 3 to 11 letters, digits, spaces, dots or dashes.",
    );
  }
  if (request.source === "campaign" && request.campaignId === undefined) {
    add("campaign_id", "required", "A campaign's message names its campaign.");
  }
  checkReference(request.clientReference, "client_reference", add);
  if (!hasOwnBodies(request.endpoint)) {
    checkBody(request.body, "body", add);
    if (describeText(request.body).segments > SEGMENTS_MAX) {
      add("body", "body_too_long", `A body has at most ${SEGMENTS_MAX} segments.`);
    }
  }
  if (request.sendAtMs !== undefined) {
    const aheadMs = request.sendAtMs - nowMs;
    const slack = SEND_AT_SLACK_MS[request.isCheckedAtGateway ? "edge" : "caller"];
    if (aheadMs < sendAtMinMs - slack.soon || aheadMs > SEND_AT_MAX_MS + slack.late) {
      const [least, most] = [durationInWords(sendAtMinMs), durationInWords(SEND_AT_MAX_MS)];
      add("send_at", "out_of_range", `A send can be scheduled from ${least} to ${most} ahead.`);
    }
  }
  checkRecipients(request, add);
  if (errors.length > 0) throw validationError(errors);
}

/** The error for wrong fields. */
export function validationError(fields: readonly FieldError[]): AppError {
  const text =
    fields.length === 1 ? "One field is not valid." : `${fields.length} fields are not valid.`;
  return new AppError("validation_error", text, { fields });
}

/** Refuses too many recipients; `bulkMax` is the tenant's own limit of bulk sends. */
export function checkRecipientCount(request: SendRequest, bulkMax: number): void {
  const max = request.endpoint === "bulk" && bulkMax > 0 ? bulkMax : BULK_DEFAULT;
  if (request.recipients.length <= max) return;
  const field = recipientsField(request.endpoint);
  throw validationError([{ field, code: "too_many", message: `At most ${max} recipients.` }]);
}

/** The field of a request that lists its recipients. */
export function recipientsField(endpoint: SendEndpoint): "messages" | "to" {
  return hasOwnBodies(endpoint) ? "messages" : "to";
}

/** The path of a recipient's field in the request (`docs/contract.md#errors`). */
export function recipientField(endpoint: SendEndpoint, index: number, name: "to" | "body"): string {
  if (endpoint === "single") return name;
  return endpoint === "bulk" ? `to[${index}]` : `messages[${index}].${name}`;
}

type Add = (field: string, code: string, message: string) => void;

function checkRecipients(request: SendRequest, add: Add): void {
  const { endpoint, recipients } = request;
  const count = recipients.length;
  if (count === 0) {
    add(recipientsField(endpoint), "too_few", "At least one recipient is needed.");
  } else if (endpoint === "single" && count > 1) {
    add("to", "too_many", "A single send has one recipient.");
  }
  recipients.forEach(({ to, body, clientReference }, index) => {
    // In a list a recipient that is too long is rejected on its own.
    if (endpoint === "single" && isTooLong(to)) {
      const field = recipientField(endpoint, index, "to");
      add(field, "too_long", `A recipient has at most ${RECIPIENT_CHARS_MAX} characters.`);
    }
    if (!hasOwnBodies(endpoint)) return;
    checkBody(body ?? "", `messages[${index}].body`, add);
    checkReference(clientReference, `messages[${index}].client_reference`, add);
  });
}

/** Characters are code points; count them only if there may be too many. */
function isTooLong(to: string): boolean {
  return to.length > RECIPIENT_CHARS_MAX && [...to].length > RECIPIENT_CHARS_MAX;
}

function checkBody(body: string, field: string, add: Add): void {
  if (body === "") add(field, "too_short", "A body has at least one character.");
  else if (hasLoneSurrogate(body)) {
    add(field, "invalid_value", "The body holds half of a surrogate pair, which is no text.");
  }
}

function checkReference(reference: string | undefined, field: string, add: Add): void {
  if (reference !== undefined && !CLIENT_REFERENCE.test(reference)) {
    add(field, "invalid_format", "A reference has 1 to 64 printable ASCII characters.");
  }
}
