/** The meaning of codes inside responses: of fields in problems, and of messages. */

/** Codes of `errors` entries (`docs/contract.md#errors`). */
export const FIELD_CODES: Readonly<Record<string, string>> = {
  required: "The field is missing.",
  invalid_type: "The value is of another type.",
  invalid_json: "The body is not one JSON object in UTF-8, or an object has a name twice.",
  unknown_field: "There is no such field or parameter; look for a typing error.",
  invalid_format: "The value does not have the required form.",
  invalid_value: "The value is not one of those allowed.",
  too_short: "The text is too short.",
  too_long: "The text is too long.",
  too_few: "The list is too short.",
  too_many: "The list is too long, or there are too many of the thing already.",
  out_of_range: "The number or instant lies outside of its bounds.",
  range_too_large: "The list's time span is too long.",
  invalid_recipient: "This is not a valid mobile number.",
  duplicate_recipient: "The same number came earlier in the request.",
  destination_not_supported: "The destination country is not enabled.",
  body_too_long: "The text needs more than 10 segments.",
  recipient_opted_out: "The recipient does not want messages from this sender.",
  quiet_hours: "It is night where the recipient is, and the policy of quiet hours is reject.",
  traffic_class_not_allowed: "The sender ID is approved for a less privileged class.",
  invalid_placeholder: "The text has a placeholder without a name, or one that is not closed.",
  invalid_csv: "The file breaks the rules of CSV; `message` names the line.",
  invalid_encoding: "The file is not UTF-8.",
  missing_column: "The file lacks a column that is required.",
  duplicate_column: "A column of the file is there twice.",
  wrong_column_count: "The line of the file has more or fewer columns than its header.",
  scientific_notation: "A spreadsheet has turned the number into one such as 2.348E+12.",
  too_many_recipients: "The campaign has as many recipients as it may have.",
};

/** Codes of the `error` of a campaign's recipient that got no message (`docs/contract.md#campaigns`). */
export const ROW_CODES: Readonly<Record<string, string>> = {
  missing_variable: "The recipient has no value for a placeholder.",
  empty_body: "The text of this recipient is empty.",
  campaign_ended: "The campaign ended before this message.",
};

/** Codes of a message's `error`, by its status (`docs/contract.md#statuses`). */
export const MESSAGE_CODES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  rejected: {
    invalid_recipient: "The recipient is not a valid mobile number.",
    duplicate_recipient: "The same number came earlier in the request.",
    destination_not_supported: "The destination country is not enabled.",
    body_too_long: "The text needs more than 10 segments.",
    recipient_opted_out: "The recipient does not want messages from this sender.",
    quiet_hours: "It would have to wait for the end of quiet hours, and the policy is reject.",
  },
  failed: {
    no_route: "No route could carry the message.",
    carrier_rejected: "Every usable carrier refused it for good.",
    carrier_unavailable:
      "Since it last failed over, carriers answered eight times that their system had failed, " +
      "and no other was left.",
    dnd_blocked: "The recipient is on a do-not-disturb list; no other carrier is tried.",
    submission_unknown:
      "The carrier did not say whether it has the message; the message is not sent again.",
    sender_id_not_approved: "The sender ID could not be used any more when the message was due.",
    tenant_suspended: "The account was suspended when the message was due.",
    recipient_opted_out: "The recipient opted out before the message was due.",
    quiet_hours: "It came to its turn inside quiet hours, and the policy is reject.",
    queue_expired: "It could not be sent within 4 hours, without those of quiet hours.",
  },
  cancelled: { cancelled: "It was cancelled before it was sent." },
  undelivered: {
    absent_subscriber: "The phone was off or out of reach.",
    unknown_subscriber: "The number is not in use.",
    subscriber_barred: "The subscriber may not receive it.",
    handset_error: "The phone could not take it.",
    network_error: "The network could not deliver it.",
    validity_expired: "The carrier's own time for it ran out.",
    spam_blocked: "A filter blocked it.",
    dnd_blocked: "The recipient is on a do-not-disturb list.",
    carrier_rejected: "The carrier refused it, or a later part of it, after it had been sent.",
    unknown: "The carrier gave no reason.",
  },
  expired: { no_receipt: "No delivery receipt came within 72 hours." },
};
