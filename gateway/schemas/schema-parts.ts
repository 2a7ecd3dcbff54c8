/** Parts of response schemas. */

import { MESSAGE_SOURCES } from "../../services/shared/core/message-source.ts";
import { MESSAGE_STATUSES } from "../../services/shared/core/message-status.ts";
import { FIELD_CODES, MESSAGE_CODES, ROW_CODES } from "../docs/content/code-texts.ts";

/** A JSON schema. */
export type Schema = Readonly<Record<string, unknown>>;

/** A decimal amount with four fraction digits. */
export const AMOUNT = {
  type: "string",
  pattern: "^-?\\d+\\.\\d{4}$",
  examples: ["12.5000"],
} as const;
/**
 * An RFC 3339 instant in UTC, in milliseconds. Without a pattern: the C# client of openapi-generator would match it
 * against a DateTime, and not compile.
 */
export const INSTANT = { type: "string", format: "date-time" } as const;
export const CURRENCY = { type: "string", pattern: "^[A-Z]{3}$", examples: ["NGN"] } as const;
export const MODE = openEnum(
  ["live", "test"],
  "That of the API key it was sent with: messages of test mode reach no phone and cost nothing.",
);
/** The set never grows within v1 (`docs/contract.md#statuses`), so a client may have a closed type for it. */
export const MESSAGE_STATUS = {
  type: "string",
  enum: MESSAGE_STATUSES,
  description:
    "Scheduled, queued and sent will change; undelivered and expired still may. No status is added within v1.",
} as const;
/** A source in a request. In responses it is open: sources may be added. */
export const MESSAGE_SOURCE = { type: "string", enum: MESSAGE_SOURCES } as const;
export const TEXT_OR_NULL = { type: ["string", "null"] } as const;
export const COUNT = { type: "integer", minimum: 0 } as const;

/** The schema of the same type or null. */
export function orNull(schema: Schema): Schema {
  return { ...schema, type: [schema.type, "null"] };
}

/** An object, or null. Generators give a named object its own type only where it is a reference. */
export function objectOrNull(schema: Schema, description?: string): Schema {
  const either = { anyOf: [schema, { type: "null" }] };
  return description === undefined ? either : { ...either, description };
}

/**
 * A word of a list that may grow within v1 (`docs/contract.md#versioning`). It is a string, so that a generated client
 * does not fail on a new word; `x-extensible-enum` has the words of today, which our tests do enforce.
 */
export function openEnum(words: readonly string[], description = ""): Schema {
  const known = `Known values: ${words.map((word) => `\`${word}\``).join(", ")}; more may be added.`;
  return {
    type: "string",
    description: `${description} ${known}`.trimStart(),
    "x-extensible-enum": words,
    examples: words.slice(0, 1),
  };
}

/** A word that never changes, such as the kind of an object. */
export function constant(word: string): Schema {
  return { type: "string", const: word };
}

/** An object with all of these members. */
export function object(properties: Readonly<Record<string, Schema>>): Schema {
  return { type: "object", required: Object.keys(properties), properties };
}

/** An identifier with this prefix. */
export function idOf(prefix: string): Schema {
  return { type: "string", pattern: `^${prefix}_[0-9A-HJKMNP-TV-Z]{26}$` };
}

/** The fault of a field. */
const FIELD_CODE = openEnum(Object.keys(FIELD_CODES), "The kind of fault; branch on it.");

/** One wrong field of a request. */
export const FIELD_ERROR = object({
  field: {
    type: "string",
    description: "Its path, such as `to` or `messages[3].to`; empty for the body as a whole.",
  },
  code: FIELD_CODE,
  message: { type: "string", description: "For people." },
});

/** Codes of messages, and of campaign recipients whose text could not be made. */
const ERROR_CODES = new Set([
  ...Object.values(MESSAGE_CODES).flatMap((codes) => Object.keys(codes)),
  ...Object.keys(ROW_CODES),
]);

/** Why a message, or a recipient of a campaign, was not sent or not delivered. */
export const MESSAGE_ERROR = object({
  code: openEnum([...ERROR_CODES], "Branch on it."),
  message: { type: "string", description: "For people." },
});

/** One rejected row of an import. */
export const ROW_FAULT = object({
  line: { ...COUNT, description: "Of a file the line, where the header is 1; else the index." },
  field: { type: "string" },
  code: FIELD_CODE,
  message: { type: "string" },
});

/** The rejected rows of an import. */
export const ROW_FAULTS = {
  type: "array",
  description: "The first 100 rejected rows.",
  items: ROW_FAULT,
} as const;
