/** Counts of messages: query and response schemas. */
import type { QuerySchema } from "./query.ts";
import {
  AMOUNT,
  CURRENCY,
  constant,
  INSTANT,
  idOf,
  MESSAGE_STATUS,
  object,
  openEnum,
  orNull,
  type Schema,
} from "./schema-parts.ts";

/** The dimensions of groups. */
export const GROUP_NAMES = [
  ...["day", "hour", "status", "country", "sender_id", "key", "campaign"],
] as const;

const NAME = `(${GROUP_NAMES.join("|")})`;

/** Query of usage (`docs/contract.md#usage`). */
export const USAGE_QUERY: QuerySchema = {
  group_by: {
    type: "string",
    description: `Any of ${GROUP_NAMES.join(", ")}, with commas between; without it all messages are one group.`,
    pattern: `^${NAME}(,${NAME})*$`,
    examples: ["day,status"],
  },
  created_after: {
    type: "string",
    format: "date-time",
    description:
      "Created at or after this RFC 3339 instant, a whole quarter hour; 30 days before the end when absent.",
    examples: ["2026-10-01T00:00:00Z"],
  },
  created_before: {
    type: "string",
    format: "date-time",
    description:
      "Created before this RFC 3339 instant, a whole quarter hour; the end of the present one when absent.",
    examples: ["2026-11-01T00:00:00Z"],
  },
  time_zone: {
    type: "string",
    description: "The zone of the days and hours, a name of the IANA database; UTC when absent.",
    minLength: 1,
    maxLength: 64,
    examples: ["Africa/Lagos"],
  },
};

const COUNTS = {
  messages: { type: "integer", minimum: 0 },
  segments: { type: "integer", minimum: 0 },
  amount: { ...AMOUNT, description: "Charged." },
} as const;

const GROUP: Schema = {
  type: "object",
  description: "The members of `group_by`, and the counts.",
  required: Object.keys(COUNTS),
  properties: {
    day: { type: "string", pattern: "^\\d{4}-\\d\\d-\\d\\d$" },
    hour: { ...INSTANT, description: "The start of the hour." },
    status: MESSAGE_STATUS,
    country: {
      ...orNull({ type: "string" }),
      description:
        "ISO 3166, 001 for a network of no country; null for a recipient that is no number.",
    },
    sender_id: { type: "string", description: "The name." },
    api_key_id: {
      ...orNull(idOf("key")),
      description: "Null: sent by no key.",
    },
    campaign_id: orNull(idOf("cmp")),
    ...COUNTS,
  },
};

const USAGE_TOTAL = object(COUNTS);

/** Response schemas. */
export const USAGE_SCHEMAS: Readonly<Record<string, Schema>> = {
  UsageTotal: USAGE_TOTAL,
  UsageGroup: GROUP,
  Usage: object({
    object: constant("usage"),
    mode: openEnum(["live", "test"], "That of the API key."),
    currency: CURRENCY,
    created_after: INSTANT,
    created_before: INSTANT,
    time_zone: { type: "string" },
    as_of: {
      ...INSTANT,
      description: "Every change made until then is counted, maybe later ones too.",
    },
    total: USAGE_TOTAL,
    groups: { type: "array", items: GROUP },
  }),
};
