/** Why a message was refused, failed or was not delivered, spelt for customers. */
export type Reason = { readonly code: string; readonly message: string };

/** Every message error code (`docs/contract.md#statuses`) with the text for customers. */
const TEXTS = {
  invalid_recipient: "The recipient is not a valid mobile number.",
  duplicate_recipient: "The same number appears earlier in the request.",
  destination_not_supported: "Messages to this destination are not enabled.",
  body_too_long: "The body is longer than 10 segments.",
  recipient_opted_out: "The recipient has opted out of messages from this sender.",
  quiet_hours: "The message would have to wait for the end of the recipient's quiet hours.",
  no_route: "No route can carry the message any more.",
  carrier_unavailable: "The carrier could not take the message.",
  submission_unknown: "The carrier never confirmed that it took the message.",
  sender_id_not_approved: "The sender ID could not be used when the message was due.",
  tenant_suspended: "The account could not send when the message was due.",
  queue_expired: "The message could not be sent within the queue time.",
  cancelled: "The message was cancelled before it was sent.",
  absent_subscriber: "The handset could not be reached.",
  unknown_subscriber: "The number is not in use.",
  subscriber_barred: "The number cannot receive messages.",
  handset_error: "The handset refused the message.",
  network_error: "The network could not deliver the message.",
  validity_expired: "The network gave up before the handset could be reached.",
  dnd_blocked: "The recipient is on a list of numbers that get no such messages.",
  spam_blocked: "The network blocked the message as unwanted.",
  carrier_rejected: "The carrier refused the message.",
  unknown: "The network could not deliver the message and gave no usable reason.",
  no_receipt: "No delivery receipt arrived within the time allowed.",
} as const;

/** A message error code. */
export type ReasonCode = keyof typeof TEXTS;

const REASONS = new Map<string, Reason>(
  Object.entries(TEXTS).map(([code, message]) => [code, Object.freeze({ code, message })]),
);

/** The code with its sentence. */
export function reasonFor(code: ReasonCode): Reason {
  return REASONS.get(code) as Reason;
}

const FAILED_CODES: ReadonlySet<string> = new Set<ReasonCode>([
  "no_route",
  "carrier_rejected",
  "carrier_unavailable",
  "dnd_blocked",
  "submission_unknown",
  "sender_id_not_approved",
  "tenant_suspended",
  "recipient_opted_out",
  "quiet_hours",
  "queue_expired",
]);

const UNDELIVERED_CODES: ReadonlySet<string> = new Set<ReasonCode>([
  "absent_subscriber",
  "unknown_subscriber",
  "subscriber_barred",
  "handset_error",
  "network_error",
  "validity_expired",
  "spam_blocked",
  "dnd_blocked",
  "carrier_rejected",
  "unknown",
]);

/** The code if `failed` may carry it, else `carrier_rejected`. */
export function failedCode(code: string): ReasonCode {
  return FAILED_CODES.has(code) ? (code as ReasonCode) : "carrier_rejected";
}

/** The code if `undelivered` may carry it, else `unknown`. */
export function undeliveredCode(code: string): ReasonCode {
  return UNDELIVERED_CODES.has(code) ? (code as ReasonCode) : "unknown";
}
