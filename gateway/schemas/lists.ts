import { RECIPIENT_CHARS_MAX } from "../../services/shared/core/limits.ts";
import { CURSOR, LIMIT } from "./page-query.ts";
import type { QuerySchema } from "./query.ts";
import { DELIVERY_STATUS, SENDER_ID_STATUS } from "./responses.ts";
import { MESSAGE_SOURCE, MESSAGE_STATUS } from "./schema-parts.ts";

const CREATED_AFTER = {
  type: "string",
  format: "date-time",
  description: "Created at or after this RFC 3339 instant; at most 12 months ago.",
  examples: ["2026-11-01T00:00:00Z"],
} as const;

const CREATED_BEFORE = {
  type: "string",
  format: "date-time",
  description: "Created before this RFC 3339 instant; now when absent.",
  examples: ["2026-11-08T00:00:00Z"],
} as const;

/** Query of the message list (`docs/contract.md#lists`). */
export const MESSAGE_LIST: QuerySchema = {
  status: {
    type: "array",
    description: "Any of these statuses; queued also matches messages being sent.",
    items: MESSAGE_STATUS,
  },
  from: {
    type: "string",
    description: "Sender ID, without regard to case.",
    minLength: 1,
    maxLength: 64,
  },
  to: {
    type: "string",
    description: "Recipient, in any form that a send accepts.",
    minLength: 1,
    maxLength: RECIPIENT_CHARS_MAX,
    examples: ["+2348031234567"],
  },
  client_reference: {
    type: "string",
    description: "Your own reference, exactly.",
    minLength: 1,
    maxLength: 64,
  },
  campaign_id: {
    type: "string",
    description: "Messages of this campaign.",
    pattern: "^cmp_[0-9A-HJKMNP-TV-Z]{26}$",
  },
  source: {
    type: "array",
    description: "Any of these sources.",
    items: MESSAGE_SOURCE,
  },
  created_after: CREATED_AFTER,
  created_before: CREATED_BEFORE,
  limit: LIMIT,
  cursor: CURSOR,
};

/** Query of the sender ID list (`docs/contract.md#sender-ids`). */
export const SENDER_ID_LIST: QuerySchema = {
  status: {
    type: "array",
    description: "Any of these statuses.",
    items: SENDER_ID_STATUS,
  },
  usable: { type: "boolean", description: "Only those that can, or cannot, be used now." },
  name: {
    type: "string",
    description: "The name, without regard to case.",
    minLength: 1,
    maxLength: 64,
  },
  limit: LIMIT,
  cursor: CURSOR,
};

/** Body of a request of a sender ID. */
export const NEW_SENDER_ID = {
  type: "object",
  additionalProperties: false,
  required: ["name", "use_case", "sample"],
  properties: {
    name: {
      type: "string",
      description:
        "3 to 11 letters, digits, spaces, dots and dashes; no space at its beginning or end.",
      minLength: 1,
      maxLength: 64,
      examples: ["Acme Shop"],
    },
    use_case: {
      type: "string",
      description: "What it is for, and who the recipients are.",
      minLength: 1,
      maxLength: 500,
      examples: ["Order updates for customers of our shop"],
    },
    sample: {
      type: "string",
      description: "A text that it will send.",
      minLength: 1,
      maxLength: 1600,
      examples: ["Your order 1001 has left our store."],
    },
  },
} as const;

/** Query of a webhook endpoint's deliveries. */
export const DELIVERY_LIST: QuerySchema = {
  status: {
    type: "array",
    description: "Any of these statuses.",
    items: DELIVERY_STATUS,
  },
  event_type: {
    type: "string",
    description: "Deliveries of this event type.",
    minLength: 1,
    maxLength: 64,
  },
  created_after: { ...CREATED_AFTER, description: "Created at or after this RFC 3339 instant." },
  created_before: CREATED_BEFORE,
  limit: LIMIT,
  cursor: CURSOR,
};
