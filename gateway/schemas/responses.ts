/**
 * Response schemas, for the OpenAPI document and for the tests that check real responses against it. Objects are
 * open: v1 may add members, and clients ignore unknown ones.
 */
import { ERRORS } from "../../services/shared/core/errors.ts";
import { EVENT_TYPES } from "../../services/shared/core/event-types.ts";
import { MESSAGE_SOURCES } from "../../services/shared/core/message-source.ts";
import { ACCOUNT_SCHEMAS } from "./account.ts";
import { API_KEY_SCHEMAS } from "./api-keys.ts";
import { AUDIT_SCHEMAS } from "./audit.ts";
import { CAMPAIGN_SCHEMAS } from "./campaign-responses.ts";
import { CONSENT_SCHEMAS } from "./consent.ts";
import {
  AMOUNT,
  COUNT,
  CURRENCY,
  constant,
  FIELD_ERROR,
  INSTANT,
  idOf,
  MESSAGE_ERROR,
  MESSAGE_STATUS,
  MODE,
  object,
  objectOrNull,
  openEnum,
  orNull,
  ROW_FAULT,
  type Schema,
} from "./schema-parts.ts";
import { USAGE_SCHEMAS } from "./usage.ts";
import { WALLET_SCHEMAS } from "./wallet.ts";

/** A message id. */
export const MESSAGE_ID = idOf("msg");

const ERROR_OR_NULL = objectOrNull(MESSAGE_ERROR);

/** How a body is encoded. */
const ENCODING = openEnum(["gsm7", "ucs2"]);

/** Where a message comes from. */
const SOURCE = openEnum(MESSAGE_SOURCES, "How the sender was authenticated.");

const MESSAGE_PROPERTIES = {
  id: MESSAGE_ID,
  object: constant("message"),
  mode: MODE,
  channel: openEnum(["sms"]),
  direction: openEnum(["outbound"]),
  status: MESSAGE_STATUS,
  to: {
    type: "string",
    description: "E.164; a recipient that could not be parsed is kept as given.",
  },
  from: { type: "string" },
  body: {
    type: "string",
    description:
      "The text exactly as submitted. Empty once the message is in a final status, if the account " +
      "had its texts redacted when it was accepted.",
  },
  encoding: ENCODING,
  segments: {
    ...COUNT,
    description:
      "How many the text needs: of GSM 7-bit characters 160 fit into one and 153 into each of several, else 70 and 67.",
  },
  held_amount: { ...AMOUNT, description: "The most that the message can cost." },
  unit_price: {
    ...orNull(AMOUNT),
    description: "Price per segment of the carrying route; null until sent.",
  },
  amount: {
    ...orNull(AMOUNT),
    description:
      "What was charged; null until charged. Of a message that was never sent it stays null, and is 0.0000 in events.",
  },
  currency: CURRENCY,
  client_reference: { type: ["string", "null"] },
  campaign_id: { type: ["string", "null"], pattern: "^cmp_[0-9A-HJKMNP-TV-Z]{26}$" },
  source: SOURCE,
  error: ERROR_OR_NULL,
  scheduled_at: orNull(INSTANT),
  created_at: INSTANT,
  sent_at: orNull(INSTANT),
  completed_at: orNull(INSTANT),
  updated_at: INSTANT,
} as const;

const MESSAGE = object(MESSAGE_PROPERTIES);

const STATUS_CHANGE = object({
  status: MESSAGE_STATUS,
  occurred_at: INSTANT,
  error: ERROR_OR_NULL,
});

const MESSAGE_WITH_HISTORY = object({
  ...MESSAGE_PROPERTIES,
  status_history: {
    type: "array",
    description: "One entry per status the message has had, oldest first.",
    minItems: 1,
    items: STATUS_CHANGE,
  },
});

const SEND_RESULT_ENTRY = object({
  id: MESSAGE_ID,
  index: { ...COUNT, description: "Its place in the request, from 0." },
  input: { type: "string", description: "The recipient as submitted." },
  to: { type: "string", description: "E.164; the input when it could not be parsed." },
  status: MESSAGE_STATUS,
  segments: COUNT,
  held_amount: AMOUNT,
  client_reference: { type: ["string", "null"] },
  error: ERROR_OR_NULL,
});

const SEND_RESULT = object({
  object: constant("send_result"),
  requested: COUNT,
  accepted: COUNT,
  rejected: COUNT,
  segments: { ...COUNT, description: "Segments of the accepted messages." },
  held_amount: AMOUNT,
  currency: CURRENCY,
  mode: MODE,
  reservation_id: { type: "string", pattern: "^rsv_" },
  messages: {
    type: "array",
    description: "One entry per submitted recipient, in submitted order.",
    items: SEND_RESULT_ENTRY,
  },
});

const PREVIEW_COUNT = { type: "integer", minimum: 0 } as const;

const PREVIEW_ROOM = object({ used: PREVIEW_COUNT, free: PREVIEW_COUNT });

const PREVIEW_CHARACTER = object({
  character: { type: "string" },
  code_point: { type: "string", pattern: "^U\\+[0-9A-F]{4,6}$" },
  positions: {
    type: "array",
    description: "Its places in the text, in characters from 0; the first 100.",
    items: PREVIEW_COUNT,
  },
});

const PREVIEW_REFUSAL = object({
  field: { type: ["string", "null"] },
  code: { type: "string" },
  message: { type: "string" },
});

const MESSAGE_PREVIEW = object({
  object: constant("message_preview"),
  encoding: openEnum(["gsm7", "ucs2"]),
  characters: PREVIEW_COUNT,
  segments: { ...PREVIEW_COUNT, description: "A send allows 10." },
  last_segment: PREVIEW_ROOM,
  non_gsm7_characters: {
    type: "array",
    description: "The characters that make the text UCS-2, in order; the first 100.",
    items: PREVIEW_CHARACTER,
  },
  to: { type: ["string", "null"], description: "The recipient in E.164." },
  unit_price: { ...orNull(AMOUNT), description: "The highest price of a segment." },
  amount: { ...orNull(AMOUNT), description: "The most that the message can cost." },
  currency: orNull(CURRENCY),
  refusal: objectOrNull(PREVIEW_REFUSAL, "Why a send would be refused."),
});

const BALANCE = object({
  object: constant("balance"),
  currency: CURRENCY,
  balance: AMOUNT,
  held: { ...AMOUNT, description: "Funds held for messages in flight." },
  available: { ...AMOUNT, description: "What new sends may use." },
  low_balance_threshold: AMOUNT,
  as_of: INSTANT,
});

/** The status of a sender ID in a request (`docs/contract.md#sender-ids`). */
export const SENDER_ID_STATUS = {
  type: "string",
  enum: ["pending", "approved", "rejected", "suspended"],
} as const;

const SENDER_ID_PROPERTIES = {
  id: idOf("sid"),
  object: constant("sender_id"),
  name: { type: "string" },
  status: openEnum(SENDER_ID_STATUS.enum),
  usable: { type: "boolean", description: "Whether messages can be sent from it now." },
  rejection_reason: { type: ["string", "null"] },
} as const;

const SENDER_ID_REQUEST = {
  traffic_class: openEnum(
    ["otp", "transactional", "promotional"],
    "Operators choose it at the approval.",
  ),
  use_case: {
    type: ["string", "null"],
    description: "Why it was requested; null when it was not requested.",
  },
  sample: { type: ["string", "null"], description: "The sample text of the request." },
} as const;

const EVENT_TYPE = openEnum(EVENT_TYPES);

const WEBHOOK_PROPERTIES = {
  id: idOf("whe"),
  object: constant("webhook_endpoint"),
  url: { type: "string" },
  status: openEnum(["enabled", "disabled"]),
  event_types: { type: "array", items: EVENT_TYPE },
  sources: {
    type: "array",
    description: "Sources whose events are wanted; empty means all.",
    items: SOURCE,
  },
  description: { type: ["string", "null"] },
  disabled_reason: {
    type: ["string", "null"],
    description:
      "Why it is disabled: by its owner, or after 3 days of failures without a success. Null while enabled.",
  },
} as const;

const MADE_AND_CHANGED = { created_at: INSTANT, updated_at: INSTANT } as const;

const SECRET = {
  type: "string",
  pattern: "^whsec_[A-Za-z0-9_-]{43}$",
  description: "The signing secret; shown this once.",
} as const;

/** The status of a delivery in a request. */
export const DELIVERY_STATUS = {
  type: "string",
  enum: ["pending", "succeeded", "failed", "dropped"],
} as const;

const WEBHOOK_ATTEMPT = object({
  number: { type: "integer", minimum: 1 },
  started_at: INSTANT,
  duration_ms: COUNT,
  http_status: { type: ["integer", "null"], description: "Null when no answer came." },
  error: {
    type: ["string", "null"],
    description:
      "Null when it succeeded. `status` and `redirect` are answers; `timeout`, `connection` and `tls` mean " +
      "that no whole answer came.",
  },
  answer: {
    type: "string",
    description: "The first 1,024 bytes of the answer at most, as text.",
  },
});

const DELIVERY_PROPERTIES = {
  id: idOf("whd"),
  object: constant("webhook_delivery"),
  endpoint_id: idOf("whe"),
  event_id: { type: "string", pattern: "^evt_" },
  event_type: EVENT_TYPE,
  status: openEnum(
    DELIVERY_STATUS.enum,
    "Failed after the last failure of its schedule, or of a resend; dropped when its endpoint was disabled or " +
      "deleted first.",
  ),
  next_attempt_at: orNull(INSTANT),
  created_at: INSTANT,
  completed_at: orNull(INSTANT),
  attempts: {
    type: "array",
    description: "Oldest first.",
    items: WEBHOOK_ATTEMPT,
  },
} as const;

const DELIVERY_BODY = {
  type: ["string", "null"],
  description: "What its requests carry; null when it is no longer kept.",
} as const;

const TIMELINE_ENTRY: Schema = {
  type: "object",
  required: ["at", "type"],
  properties: {
    at: INSTANT,
    type: openEnum(["status", "hold", "charge", "release", "webhook_attempt", "webhook_due"]),
    status: MESSAGE_STATUS,
    error: objectOrNull(MESSAGE_ERROR, "Of a status."),
    amount: { ...AMOUNT, description: "Of a hold, a charge and a release." },
    currency: CURRENCY,
    endpoint_id: idOf("whe"),
    delivery_id: idOf("whd"),
    event_type: { type: "string" },
    attempt: { type: "integer", minimum: 1 },
    duration_ms: COUNT,
    http_status: { type: ["integer", "null"] },
    failure: {
      type: ["string", "null"],
      description: "Of an attempt: null when it succeeded, else as in the list of deliveries.",
    },
  },
};

const TIMELINE = object({
  object: constant("message_timeline"),
  message_id: MESSAGE_ID,
  entries: { type: "array", description: "Oldest first.", items: TIMELINE_ENTRY },
});

const PROBLEM_PROPERTIES = {
  type: { type: "string", format: "uri", description: "The page of this code." },
  title: { type: "string", description: "The same for every problem of this code." },
  status: { type: "integer", minimum: 400, maximum: 599, description: "The HTTP status." },
  code: openEnum(Object.keys(ERRORS), "What went wrong; branch on it."),
  detail: { type: "string", description: "What went wrong here, and what to do. For people." },
  request_id: { ...idOf("req"), description: "Give it to support. Equals `X-Request-Id`." },
  errors: {
    type: "array",
    description: "One entry per wrong field; empty when the problem is not about fields.",
    items: FIELD_ERROR,
  },
} as const;

const PROBLEM = {
  ...object(PROBLEM_PROPERTIES),
  description: "A problem (RFC 9457). Branch on `code`; `title` and `detail` are for people.",
};

const INSUFFICIENT_BALANCE_PROBLEM = {
  ...object({
    ...PROBLEM_PROPERTIES,
    required_amount: { ...AMOUNT, description: "What the request would have held." },
    available_amount: { ...AMOUNT, description: "What new sends may use." },
    currency: CURRENCY,
  }),
  description: "The problem `insufficient_balance`: the wallet does not cover the request.",
};

/** Every named response schema. */
export const RESPONSE_SCHEMAS: Readonly<Record<string, Schema>> = {
  Message: MESSAGE,
  MessageWithHistory: MESSAGE_WITH_HISTORY,
  MessageStatus: MESSAGE_STATUS,
  MessageError: MESSAGE_ERROR,
  StatusChange: STATUS_CHANGE,
  SendResult: SEND_RESULT,
  SendResultEntry: SEND_RESULT_ENTRY,
  MessagePreview: MESSAGE_PREVIEW,
  MessagePreviewRoom: PREVIEW_ROOM,
  MessagePreviewCharacter: PREVIEW_CHARACTER,
  MessagePreviewRefusal: PREVIEW_REFUSAL,
  Balance: BALANCE,
  SenderId: object({ ...SENDER_ID_PROPERTIES, ...SENDER_ID_REQUEST, ...MADE_AND_CHANGED }),
  SenderIdOfEvent: object({ ...SENDER_ID_PROPERTIES, ...MADE_AND_CHANGED }),
  ...CAMPAIGN_SCHEMAS,
  ...CONSENT_SCHEMAS,
  ...API_KEY_SCHEMAS,
  ...ACCOUNT_SCHEMAS,
  ...AUDIT_SCHEMAS,
  ...WALLET_SCHEMAS,
  ...USAGE_SCHEMAS,
  WebhookEndpoint: object({ ...WEBHOOK_PROPERTIES, ...MADE_AND_CHANGED }),
  WebhookEndpointWithSecret: object({
    ...WEBHOOK_PROPERTIES,
    secret: SECRET,
    ...MADE_AND_CHANGED,
  }),
  WebhookDelivery: object(DELIVERY_PROPERTIES),
  WebhookDeliveryWithBody: object({ ...DELIVERY_PROPERTIES, body: DELIVERY_BODY }),
  MessageTimeline: TIMELINE,
  TimelineEntry: TIMELINE_ENTRY,
  WebhookAttempt: WEBHOOK_ATTEMPT,
  WebhookRecovery: object({ object: constant("webhook_recovery"), recovered: COUNT }),
  RowFault: ROW_FAULT,
  FieldError: FIELD_ERROR,
  Problem: PROBLEM,
  InsufficientBalanceProblem: INSUFFICIENT_BALANCE_PROBLEM,
};
