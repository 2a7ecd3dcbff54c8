/** Requests and responses about inbound messages and suppressions (`docs/contract.md#consent`). */
import { RECIPIENT_CHARS_MAX } from "../../services/shared/core/limits.ts";
import { CURSOR, LIMIT } from "./page-query.ts";
import type { QuerySchema } from "./query.ts";
import {
  COUNT,
  constant,
  INSTANT,
  idOf,
  object,
  openEnum,
  ROW_FAULTS,
  type Schema,
  TEXT_OR_NULL,
} from "./schema-parts.ts";

const INBOUND_MESSAGE = object({
  id: idOf("inb"),
  object: constant("inbound_message"),
  from: { type: "string", description: "E.164, if the carrier gave a number." },
  to: { type: "string", description: "Your number, digits only." },
  body: { type: "string" },
  encoding: openEnum(["gsm7", "ucs2"]),
  parts: COUNT,
  complete: { type: "boolean", description: "False when a part had not come after 10 minutes." },
  action: {
    ...TEXT_OR_NULL,
    description:
      "`opt_out`, `opt_in` or `help` when the text is one of the words for it; more may be added.",
  },
  received_at: INSTANT,
});

const SUPPRESSION = object({
  object: constant("suppression"),
  number: { type: "string" },
  sender_id: { ...TEXT_OR_NULL, description: "Null: every sender ID of the account." },
  source: openEnum(["keyword", "api", "import", "operator"], "How it came to be."),
  reason: TEXT_OR_NULL,
  created_at: INSTANT,
});

const SUPPRESSION_IMPORT = object({
  object: constant("suppression_import"),
  added: COUNT,
  unchanged: COUNT,
  rejected: COUNT,
  faults: ROW_FAULTS,
});

/** Every named response schema of consent. */
export const CONSENT_SCHEMAS: Readonly<Record<string, Schema>> = {
  InboundMessage: INBOUND_MESSAGE,
  Suppression: SUPPRESSION,
  SuppressionImport: SUPPRESSION_IMPORT,
};

const NUMBER = {
  type: "string",
  description: "In any form that a send takes.",
  minLength: 1,
  maxLength: RECIPIENT_CHARS_MAX,
} as const;

/** One number to suppress. */
export const NEW_SUPPRESSION = {
  type: "object",
  additionalProperties: false,
  required: ["number"],
  properties: {
    number: { type: "string", description: "In any form that a send takes." },
    sender_id: { ...TEXT_OR_NULL, description: "Null or absent: every sender ID." },
    reason: { ...TEXT_OR_NULL, description: "For people; at most 256 characters." },
  },
} as const;

/** Body of new suppressions. Each row is checked by itself, so only types are checked here. */
export const NEW_SUPPRESSIONS = {
  type: "object",
  additionalProperties: false,
  required: ["suppressions"],
  properties: {
    suppressions: {
      type: "array",
      minItems: 1,
      maxItems: 1000,
      items: NEW_SUPPRESSION,
    },
  },
} as const;

/** Query of the list of inbound messages. */
export const INBOUND_LIST: QuerySchema = {
  from: { ...NUMBER, description: "From this handset." },
  to: { ...NUMBER, description: "To this number of yours." },
  received_after: {
    type: "string",
    format: "date-time",
    description: "Received at or after this RFC 3339 instant.",
  },
  received_before: {
    type: "string",
    format: "date-time",
    description: "Received before this RFC 3339 instant.",
  },
  limit: LIMIT,
  cursor: CURSOR,
};

/** Query of the list of suppressions. */
export const SUPPRESSION_LIST: QuerySchema = {
  number: NUMBER,
  limit: { ...LIMIT, maximum: 1000 },
  cursor: CURSOR,
};

/** Query that names one suppression. */
export const ONE_SUPPRESSION: QuerySchema = {
  sender_id: {
    type: "string",
    description: "The suppression of this sender ID; without it, that of the whole account.",
    minLength: 3,
    maxLength: 11,
  },
};
