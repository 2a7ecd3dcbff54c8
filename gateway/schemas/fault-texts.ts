/** The sentences that say what is wrong with a value (`errors[].message`), by the keyword that refused it. */
import type { ErrorObject } from "ajv";
import { nearestWord } from "./nearest-word.ts";

/** The subject of a schema: the fields of a body, or the parameters of a query. */
export type FaultKind = "field" | "parameter";

/** Sentences by pattern: each says which form the pattern requires. */
export const PATTERN_TEXTS: Readonly<Record<string, string>> = {
  "^[A-Za-z0-9 .-]+$":
    "The value may have only letters from A to Z, digits, spaces, dots and hyphens",
  "^[\\x20-\\x7E]*$": "The value may have only printable ASCII characters",
  "^cmp_[0-9A-HJKMNP-TV-Z]{26}$": "The value must be the id of a campaign: cmp_ and 26 characters",
  "^[0-9]{1,12}\\.[0-9]{4}$": "The value must be an amount with four decimal places",
};

const TYPES: Readonly<Record<string, string>> = {
  string: "a string",
  integer: "a whole number",
  number: "a number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  null: "null",
};

/** The maximum number of allowed names in a sentence: a longer list would hide the name that was meant. */
const NAMES_MAX = 12;

/** The text for a value that a keyword refused. Ajv is `verbose`: an error has its schema and its value. */
type Text = (error: ErrorObject, kind: FaultKind) => string;

const TEXTS: Readonly<Record<string, Text>> = {
  required: (_error, kind) => `This ${kind} is required.`,
  type: ({ schema, data, parentSchema }, kind) => {
    const wanted = [schema as string | string[]].flat().map((type) => TYPES[type] ?? type);
    const found = kind === "parameter" ? "" : `, not ${typeOf(data)}`;
    return `The value must be ${either(wanted)}${found}${exampleOf(parentSchema)}.`;
  },
  additionalProperties: unknownName,
  pattern: ({ schema, parentSchema }) =>
    `${PATTERN_TEXTS[String(schema)] ?? "The value does not have the required form"}${exampleOf(parentSchema)}.`,
  format: () =>
    "The value must be an RFC 3339 date and time with its offset, such as 2027-01-15T09:30:00Z.",
  minLength: ({ schema }) => `The value must have at least ${count(schema, "character")}.`,
  maxLength: ({ schema }) => `The value must have at most ${count(schema, "character")}.`,
  minItems: ({ schema }) => `The list must have at least ${count(schema, "item")}.`,
  maxItems: ({ schema, data }) =>
    `The list must have at most ${count(schema, "item")}; it has ${(data as unknown[]).length}.`,
  minProperties: () => "Name at least one field.",
  enum: ({ schema, data }) => {
    const words = schema as readonly unknown[];
    const near = typeof data === "string" ? nearestWord(data, words.filter(isString)) : undefined;
    const hint = near === undefined ? "" : ` Did you mean ${near}?`;
    if (words.length > NAMES_MAX) return `The value is not one that this field takes.${hint}`;
    return `The value must be ${either(words.map(String))}.${hint}`;
  },
  minimum: range,
  maximum: range,
};

/** The sentence of one error. */
export function faultText(error: ErrorObject, kind: FaultKind): string {
  return TEXTS[error.keyword]?.(error, kind) ?? "The value is not valid.";
}

function unknownName({ params, parentSchema }: ErrorObject, kind: FaultKind): string {
  const given = String((params as { additionalProperty?: unknown }).additionalProperty);
  const names = Object.keys((parentSchema?.properties as object | undefined) ?? {});
  return unknownText(given, names, kind);
}

/** The sentence of a name that is not known. */
export function unknownText(given: string, names: readonly string[], kind: FaultKind): string {
  if (names.length === 0) {
    return kind === "field"
      ? "This operation takes no fields."
      : "This operation takes no parameters in the address.";
  }
  const near = nearestWord(given, names);
  if (near !== undefined) return `There is no such ${kind}. Did you mean ${near}?`;
  if (names.length > NAMES_MAX) return `There is no such ${kind}.`;
  const which = names.length === 1 ? `The only one is ${names[0]}` : `There are ${both(names)}`;
  return `There is no such ${kind}. ${which}.`;
}

function range({ parentSchema }: ErrorObject): string {
  const { minimum, maximum } = (parentSchema ?? {}) as { minimum?: number; maximum?: number };
  if (minimum !== undefined && maximum !== undefined) {
    return `The value must be from ${minimum} to ${maximum}.`;
  }
  const bound = minimum === undefined ? `at most ${maximum}` : `at least ${minimum}`;
  return `The value must be ${bound}.`;
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  const type = typeof value;
  return type === "boolean" ? "a boolean" : (TYPES[type] ?? type);
}

function exampleOf(schema: ErrorObject["parentSchema"]): string {
  const [example] = (schema?.examples ?? []) as readonly unknown[];
  return example === undefined ? "" : `, such as ${JSON.stringify(example)}`;
}

function count(bound: unknown, unit: string): string {
  return `${bound} ${unit}${bound === 1 ? "" : "s"}`;
}

function either(words: readonly string[]): string {
  const [first = ""] = words;
  return words.length < 2
    ? first
    : `${words.length > 2 ? "one of " : ""}${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}

function both(words: readonly string[]): string {
  return `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

function isString(word: unknown): word is string {
  return typeof word === "string";
}
