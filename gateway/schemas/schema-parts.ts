/** Parts of response schemas. */

/** A JSON schema. */
export type Schema = Readonly<Record<string, unknown>>;

/** A decimal amount with four fraction digits. */
export const AMOUNT = {
  type: "string",
  pattern: "^-?\\d+\\.\\d{4}$",
  examples: ["12.5000"],
} as const;
/** An RFC 3339 instant in UTC, in milliseconds. */
export const INSTANT = {
  type: "string",
  format: "date-time",
  pattern: "^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$",
} as const;
export const CURRENCY = { type: "string", pattern: "^[A-Z]{3}$", examples: ["NGN"] } as const;
export const MODE = {
  type: "string",
  enum: ["live", "test"],
  description:
    "That of the API key it was sent with: messages of test mode reach no phone and cost nothing.",
} as const;
export const TEXT_OR_NULL = { type: ["string", "null"] } as const;
export const COUNT = { type: "integer", minimum: 0 } as const;

/** The schema, or null. */
export function orNull(schema: {
  readonly type: string;
  readonly [keyword: string]: unknown;
}): Schema {
  return { ...schema, type: [schema.type, "null"] };
}

/** An object with all of these members. */
export function object(properties: Readonly<Record<string, Schema>>): Schema {
  return { type: "object", required: Object.keys(properties), properties };
}

/** An identifier with this prefix. */
export function idOf(prefix: string): Schema {
  return { type: "string", pattern: `^${prefix}_[0-9A-HJKMNP-TV-Z]{26}$` };
}

/** The rejected rows of an import. */
export const ROW_FAULTS = {
  type: "array",
  description: "The first 100 rejected rows.",
  items: object({
    line: { ...COUNT, description: "Of a file the line, where the header is 1; else the index." },
    field: { type: "string" },
    code: { type: "string" },
    message: { type: "string" },
  }),
} as const;
