import {
  BULK_DEFAULT,
  RECIPIENT_CHARS_MAX,
  SEGMENTS_MAX,
} from "../../services/shared/core/limits.ts";

/** Fields shared by all sends (`docs/contract.md#sends`). */
const FROM = {
  type: "string",
  description: "A sender ID of yours that can be used now, without regard to case.",
  minLength: 3,
  maxLength: 11,
  pattern: "^[A-Za-z0-9 .-]+$",
  examples: ["Acme"],
} as const;

const BODY = {
  type: "string",
  description:
    `The text, sent exactly as given; at most ${SEGMENTS_MAX} segments. ` +
    "Placeholders such as {{name}} are not expanded.",
  minLength: 1,
  examples: ["Your code is 123456"],
} as const;

const CLIENT_REFERENCE = {
  type: ["string", "null"],
  description: "Your own reference: 1 to 64 printable ASCII characters.",
  minLength: 1,
  maxLength: 64,
  pattern: "^[\\x20-\\x7E]*$",
  examples: ["order-1001"],
} as const;

/** The traffic class of a request. */
export const TRAFFIC_CLASS = {
  type: ["string", "null"],
  description:
    "What the message is for: no more privileged than what the sender ID is approved for, which is the default. " +
    "An opt-out blocks every class but otp. Quiet hours (in Nigeria from 20:00 to 08:00) delay promotional messages.",
  enum: ["otp", "transactional", "promotional", null],
} as const;

const SEND_AT = {
  type: ["string", "null"],
  format: "date-time",
  description: "RFC 3339 instant from 1 minute to 90 days ahead; omit it to send now.",
} as const;

const TO_ITEM = {
  type: "string",
  description:
    "A recipient, in any common Nigerian or international form. One that is not a valid mobile " +
    `number of at most ${RECIPIENT_CHARS_MAX} characters is rejected on its own.`,
  examples: ["+2348031234567"],
} as const;

/** Body of a single send. */
export const SINGLE_SEND = {
  type: "object",
  additionalProperties: false,
  required: ["to", "from", "body"],
  properties: {
    to: {
      type: "string",
      description: "The recipient, in any common Nigerian or international form.",
      minLength: 1,
      maxLength: RECIPIENT_CHARS_MAX,
      examples: ["+2348031234567"],
    },
    from: FROM,
    traffic_class: TRAFFIC_CLASS,
    body: BODY,
    client_reference: CLIENT_REFERENCE,
    send_at: SEND_AT,
  },
} as const;

/** Body of a bulk send. Messaging checks each recipient by itself, so only their type is checked here. */
export const BULK_SEND = {
  type: "object",
  additionalProperties: false,
  required: ["to", "from", "body"],
  properties: {
    to: {
      type: "array",
      description:
        "1 to 1,000 recipients by default; an account's own limit may be lower or higher.",
      minItems: 1,
      maxItems: BULK_DEFAULT,
      items: TO_ITEM,
    },
    from: FROM,
    traffic_class: TRAFFIC_CLASS,
    body: BODY,
    client_reference: { ...CLIENT_REFERENCE, description: "Copied onto every message." },
    send_at: SEND_AT,
  },
} as const;

/** One message of a batch. */
export const BATCH_ITEM = {
  type: "object",
  additionalProperties: false,
  required: ["to", "body"],
  properties: { to: TO_ITEM, body: BODY, client_reference: CLIENT_REFERENCE },
} as const;

/** Body of a batch send. */
export const BATCH_SEND = {
  type: "object",
  additionalProperties: false,
  required: ["from", "messages"],
  properties: {
    from: FROM,
    traffic_class: TRAFFIC_CLASS,
    messages: {
      type: "array",
      description: "1 to 1,000 items.",
      minItems: 1,
      maxItems: BULK_DEFAULT,
      items: BATCH_ITEM,
    },
  },
} as const;

/** The longest text of a preview, in characters: more than twice the longest body. */
const PREVIEW_CHARS_MAX = 5000;

/** Body of a preview. */
export const MESSAGE_PREVIEW = {
  type: "object",
  additionalProperties: false,
  required: ["body"],
  properties: {
    body: {
      ...BODY,
      description: "The text, as it is so far; it may be empty, or longer than a send allows.",
      minLength: 0,
      maxLength: PREVIEW_CHARS_MAX,
    },
    from: { ...FROM, description: `${FROM.description} Needed for a price.` },
    to: {
      ...TO_ITEM,
      description: "A recipient, in any form that a send accepts. Needed for a price.",
      minLength: 1,
      maxLength: RECIPIENT_CHARS_MAX,
    },
    traffic_class: TRAFFIC_CLASS,
  },
} as const;
