/**
 * Response schemas, for the OpenAPI document and for the tests that check real responses against it. Objects are
 * open: v1 may add members, and clients ignore unknown ones.
 */
import { MESSAGE_SOURCES } from "../../services/shared/core/message-source.ts";
import { MESSAGE_STATUSES } from "../../services/shared/core/message-status.ts";
import { CAMPAIGN_SCHEMAS } from "./campaign-responses.ts";
import { CONSENT_SCHEMAS } from "./consent.ts";
import {
  AMOUNT,
  COUNT,
  CURRENCY,
  INSTANT,
  idOf,
  MODE,
  object,
  orNull,
  type Schema,
} from "./schema-parts.ts";

/** A message id. */
export const MESSAGE_ID = idOf("msg");

const REASON = {
  ...object({
    code: { type: "string", examples: ["absent_subscriber"] },
    message: { type: "string" },
  }),
  type: ["object", "null"],
} as const;

const MESSAGE_PROPERTIES = {
  id: MESSAGE_ID,
  object: { const: "message" },
  mode: MODE,
  channel: { const: "sms" },
  direction: { const: "outbound" },
  status: {
    type: "string",
    enum: MESSAGE_STATUSES,
    description: "Scheduled, queued and sent will change; undelivered and expired still may.",
  },
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
  encoding: { type: "string", enum: ["gsm7", "ucs2"] },
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
  source: { type: "string", enum: MESSAGE_SOURCES },
  error: REASON,
  scheduled_at: orNull(INSTANT),
  created_at: INSTANT,
  sent_at: orNull(INSTANT),
  completed_at: orNull(INSTANT),
  updated_at: INSTANT,
} as const;

const MESSAGE = object(MESSAGE_PROPERTIES);

const MESSAGE_WITH_HISTORY = object({
  ...MESSAGE_PROPERTIES,
  status_history: {
    type: "array",
    description: "One entry per status the message has had, oldest first.",
    minItems: 1,
    items: object({
      status: { type: "string", enum: MESSAGE_STATUSES },
      occurred_at: INSTANT,
      error: REASON,
    }),
  },
});

const SEND_RESULT = object({
  object: { const: "send_result" },
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
    items: object({
      id: MESSAGE_ID,
      index: COUNT,
      input: { type: "string", description: "The recipient as submitted." },
      to: { type: "string" },
      status: { type: "string", enum: ["queued", "scheduled", "rejected"] },
      segments: COUNT,
      held_amount: AMOUNT,
      client_reference: { type: ["string", "null"] },
      error: REASON,
    }),
  },
});

const BALANCE = object({
  object: { const: "balance" },
  currency: CURRENCY,
  balance: AMOUNT,
  held: { ...AMOUNT, description: "Funds held for messages in flight." },
  available: { ...AMOUNT, description: "What new sends may use." },
  low_balance_threshold: AMOUNT,
  as_of: INSTANT,
});

const SENDER_ID = object({
  id: idOf("sid"),
  object: { const: "sender_id" },
  name: { type: "string" },
  status: { type: "string", enum: ["pending", "approved", "rejected", "suspended"] },
  usable: { type: "boolean", description: "Whether messages can be sent from it now." },
  rejection_reason: { type: ["string", "null"] },
  created_at: INSTANT,
  updated_at: INSTANT,
});

const WEBHOOK_PROPERTIES = {
  id: idOf("whe"),
  object: { const: "webhook_endpoint" },
  url: { type: "string" },
  status: { type: "string", enum: ["enabled", "disabled"] },
  event_types: { type: "array", items: { type: "string" } },
  sources: { type: "array", items: { type: "string", enum: MESSAGE_SOURCES } },
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

const DELIVERY = object({
  id: idOf("whd"),
  object: { const: "webhook_delivery" },
  endpoint_id: idOf("whe"),
  event_id: { type: "string", pattern: "^evt_" },
  event_type: { type: "string" },
  status: {
    type: "string",
    enum: ["pending", "succeeded", "failed", "dropped"],
    description:
      "Failed after the last failure of its schedule, or of a resend; dropped when its endpoint was disabled or " +
      "deleted first.",
  },
  next_attempt_at: orNull(INSTANT),
  created_at: INSTANT,
  completed_at: orNull(INSTANT),
  attempts: {
    type: "array",
    description: "Oldest first.",
    items: object({
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
    }),
  },
});

const PROBLEM = {
  type: "object",
  description: "A problem (RFC 9457). Branch on `code`; `title` and `detail` are for people.",
  required: ["type", "title", "status", "code", "detail", "request_id", "errors"],
  properties: {
    type: { type: "string", format: "uri", description: "The page of this code." },
    title: { type: "string" },
    status: { type: "integer", minimum: 400, maximum: 599 },
    code: { type: "string" },
    detail: { type: "string" },
    request_id: idOf("req"),
    errors: {
      type: "array",
      description: "One entry per wrong field; empty when the problem is not about fields.",
      items: object({
        field: { type: "string" },
        code: { type: "string" },
        message: { type: "string" },
      }),
    },
    required_amount: { ...AMOUNT, description: "Of insufficient_balance only." },
    available_amount: { ...AMOUNT, description: "Of insufficient_balance only." },
    currency: { ...CURRENCY, description: "Of insufficient_balance only." },
  },
} as const;

/** Every named response schema. */
export const RESPONSE_SCHEMAS: Readonly<Record<string, Schema>> = {
  Message: MESSAGE,
  MessageWithHistory: MESSAGE_WITH_HISTORY,
  SendResult: SEND_RESULT,
  Balance: BALANCE,
  SenderId: SENDER_ID,
  ...CAMPAIGN_SCHEMAS,
  ...CONSENT_SCHEMAS,
  WebhookEndpoint: object({ ...WEBHOOK_PROPERTIES, ...MADE_AND_CHANGED }),
  WebhookEndpointWithSecret: object({
    ...WEBHOOK_PROPERTIES,
    secret: SECRET,
    ...MADE_AND_CHANGED,
  }),
  WebhookDelivery: DELIVERY,
  WebhookRecovery: object({ object: { const: "webhook_recovery" }, recovered: COUNT }),
  Problem: PROBLEM,
};
