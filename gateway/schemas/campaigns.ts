/** Requests about campaigns (`docs/contract.md#campaigns`). */

import { RECIPIENT_CHARS_MAX } from "../../services/shared/core/limits.ts";
import { CAMPAIGN_STATUS, RECIPIENT_STATUS } from "./campaign-responses.ts";
import { CURSOR, LIMIT } from "./page-query.ts";
import type { QuerySchema } from "./query.ts";

/** The policy of a campaign in quiet hours. */
export const QUIET_HOURS = {
  type: ["string", "null"],
  description:
    "What happens to a promotional message that would have to wait for the end of quiet hours: it waits (hold) or " +
    "is refused (reject). Null: the account's policy.",
  enum: ["hold", "reject", null],
} as const;

const PROPERTIES = {
  name: {
    type: "string",
    description: "For people.",
    minLength: 1,
    maxLength: 100,
    examples: ["Spring"],
  },
  from: {
    type: "string",
    description: "A sender ID of yours that can be used when the campaign runs.",
    minLength: 3,
    maxLength: 11,
    pattern: "^[A-Za-z0-9 .-]+$",
    examples: ["Acme"],
  },
  body: {
    type: "string",
    description:
      "The text. {{name}} stands for the value of a row's variable. A recipient without a value is rejected.",
    minLength: 1,
    maxLength: 16_000,
    examples: ["Hello {{name}}, we open at nine."],
  },
  send_at: {
    type: ["string", "null"],
    format: "date-time",
    description:
      "RFC 3339 instant from 1 minute to 90 days ahead; without it, `start` starts at once.",
  },
  rate_per_second: {
    type: ["integer", "null"],
    description: "Messages per second at most; without it, as fast as the carriers take them.",
    minimum: 1,
    maximum: 10_000,
  },
  budget_amount: {
    type: ["string", "null"],
    description: "What the campaign may spend: its charges and holds never exceed it.",
    pattern: "^[0-9]{1,12}\\.[0-9]{4}$",
    examples: ["5000.0000"],
  },
  quiet_hours: QUIET_HOURS,
  client_reference: {
    type: ["string", "null"],
    description: "Your own reference, of each message whose row has none.",
    minLength: 1,
    maxLength: 64,
    pattern: "^[\\x20-\\x7E]*$",
    examples: ["spring-2027"],
  },
} as const;

/** Body of a new campaign. */
export const NEW_CAMPAIGN = {
  type: "object",
  additionalProperties: false,
  required: ["name", "from", "body"],
  properties: PROPERTIES,
} as const;

/** Body of a change to a draft; absent members keep their value. */
export const CAMPAIGN_CHANGE = {
  type: "object",
  additionalProperties: false,
  minProperties: 1,
  properties: PROPERTIES,
} as const;

/** One recipient. */
export const NEW_RECIPIENT = {
  type: "object",
  additionalProperties: false,
  required: ["to"],
  properties: {
    to: { type: "string", description: "In any form that a send takes." },
    variables: {
      type: ["object", "null"],
      title: "Variables",
      description: "At most 64 values of 1,000 characters each, by name.",
      additionalProperties: { type: "string" },
    },
    client_reference: {
      type: ["string", "null"],
      description: "Your own reference: 1 to 64 printable ASCII characters.",
    },
  },
} as const;

/** Body with recipients. Each row is checked by itself, so only types are checked here. */
export const NEW_RECIPIENTS = {
  type: "object",
  additionalProperties: false,
  required: ["recipients"],
  properties: {
    recipients: {
      type: "array",
      description: "1 to 1,000 rows; a campaign takes as many requests as you like.",
      minItems: 1,
      maxItems: 1000,
      items: NEW_RECIPIENT,
    },
  },
} as const;

/** Body of a test send. */
export const CAMPAIGN_TEST = {
  type: "object",
  additionalProperties: false,
  required: ["to"],
  properties: {
    to: {
      type: "array",
      description: "Your own numbers.",
      minItems: 1,
      maxItems: 5,
      items: { type: "string", minLength: 1, maxLength: RECIPIENT_CHARS_MAX },
    },
  },
} as const;

/** Body of a preview. */
export const PREVIEW = {
  type: "object",
  additionalProperties: false,
  properties: {
    limit: {
      type: "integer",
      description: "How many rows.",
      minimum: 1,
      maximum: 100,
      default: 10,
    },
  },
} as const;

/** Query of the list of campaigns. */
export const CAMPAIGN_LIST: QuerySchema = {
  status: {
    type: "array",
    description: "Any of these statuses.",
    items: CAMPAIGN_STATUS,
  },
  limit: LIMIT,
  cursor: CURSOR,
};

/** Query of the list of a campaign's recipients. */
export const RECIPIENT_LIST: QuerySchema = {
  status: {
    type: "array",
    description: "Any of these statuses.",
    items: RECIPIENT_STATUS,
  },
  limit: { ...LIMIT, maximum: 1000 },
  cursor: CURSOR,
};
