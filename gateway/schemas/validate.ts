import { Ajv, type ErrorObject, type Options, type SchemaObject, type ValidateFunction } from "ajv";
import { AppError, type FieldError } from "../../services/shared/core/errors.ts";
import { parseInstant } from "../../services/shared/core/rfc3339.ts";
import { type FaultKind, faultText } from "./fault-texts.ts";

const OPTIONS: Options = {
  strict: true,
  strictTypes: false,
  allowUnionTypes: true,
  unicodeRegExp: true,
  // Errors have their schema and value, from which `fault-texts.ts` makes a sentence.
  verbose: true,
};

/**
 * Ajv, compiled once per schema. The OpenAPI document publishes the same schemas. One instance collects all faults;
 * the other stops at the first, for input so large that its faults would not fit in memory.
 */
const all = prepare(new Ajv({ ...OPTIONS, allErrors: true }));
const first = prepare(new Ajv(OPTIONS));

/** The maximum number of field errors in one response. */
const ERRORS_MAX = 1000;

/** At most this many errors get a specific text: the search for similar names is slow, and a person reads no more. */
const TEXTS_MAX = 100;

/** Beyond this size only the first fault is reported; no valid body is as large. */
const SIZE_MAX = 100_000;

/** Returns the field errors of a value, none when it is valid; `size` as `parseObject` returns it. */
export type Validator = (value: unknown, size?: number) => readonly FieldError[];

/** Makes a validator of a schema. It compiles each variant on first use: all of them would take 1.5 MB when idle. */
export function compileSchema(schema: SchemaObject, kind: FaultKind = "field"): Validator {
  let findAll: ValidateFunction | undefined;
  let findFirst: ValidateFunction | undefined;
  return (value, size = 0) => {
    if (size > SIZE_MAX) {
      findFirst ??= first.compile(schema);
      return findFirst(value) ? [] : toFieldErrors(findFirst.errors ?? [], kind);
    }
    findAll ??= all.compile(schema);
    return findAll(value) ? [] : toFieldErrors(findAll.errors ?? [], kind);
  };
}

/** Throws `validation_error` when there are field errors. */
export function refuse(fields: readonly FieldError[]): void {
  if (fields.length === 0) return;
  throw new AppError("validation_error", "The request is not valid.", { fields });
}

function prepare(ajv: Ajv): Ajv {
  // `example` (OpenAPI) is not in Ajv's vocabulary.
  if (ajv.getKeyword("example") === false) ajv.addKeyword("example");
  addLengthKeyword(ajv, "minLength", (text, min) => !isShorter(text, min));
  addLengthKeyword(ajv, "maxLength", (text, max) => isShorter(text, max + 1));
  ajv.addFormat("date-time", (text) => parseInstant(text) !== undefined);
  return ajv.addFormat("uri", true);
}

/** Replaces Ajv's keyword, which counts every character of a text of 4 MiB to know that it has at least one. */
function addLengthKeyword(
  ajv: Ajv,
  keyword: "minLength" | "maxLength",
  check: (text: string, bound: number) => boolean,
): void {
  ajv.removeKeyword(keyword);
  ajv.addKeyword({
    keyword,
    type: "string",
    schemaType: "number",
    compile: (bound: number) => (text: string) => check(text, bound),
  });
}

/** Whether a text has fewer characters (code points) than `count`. Reads at most twice as many code units. */
function isShorter(text: string, count: number): boolean {
  if (text.length < count) return true;
  if (text.length >= 2 * count) return false;
  let characters = 0;
  for (const _ of text) characters += 1;
  return characters < count;
}

const CODES: Readonly<Record<string, string>> = {
  required: "required",
  type: "invalid_type",
  additionalProperties: "unknown_field",
  pattern: "invalid_format",
  format: "invalid_format",
  minLength: "too_short",
  maxLength: "too_long",
  minItems: "too_few",
  maxItems: "too_many",
  minProperties: "too_few",
  maxProperties: "unknown_field",
  enum: "invalid_value",
  const: "invalid_value",
  uniqueItems: "invalid_value",
  minimum: "out_of_range",
  maximum: "out_of_range",
};

function toFieldErrors(errors: readonly ErrorObject[], kind: FaultKind): readonly FieldError[] {
  const fields: FieldError[] = [];
  const seen = new Set<string>();
  for (const error of errors) {
    const code = CODES[error.keyword];
    if (code === undefined) continue;
    const field = fieldOf(error);
    // Report one fault per field: a value of the wrong type has no meaningful length.
    if (seen.has(field)) continue;
    seen.add(field);
    const message = fields.length < TEXTS_MAX ? faultText(error, kind) : "The value is not valid.";
    fields.push({ field, code, message });
    if (fields.length === ERRORS_MAX) break;
  }
  return fields;
}

/** Field names are shown as sent, up to this length. */
const NAME_CHARS_MAX = 100;

function fieldOf(error: ErrorObject): string {
  const path = fieldPath(error.instancePath);
  const params = error.params as Record<string, unknown>;
  const child = params.missingProperty ?? params.additionalProperty;
  if (typeof child !== "string") return path;
  const name = child.slice(0, NAME_CHARS_MAX).toWellFormed();
  return path === "" ? name : `${path}.${name}`;
}

/** A JSON pointer as customers write it: `/messages/3/to` → `messages[3].to`. */
function fieldPath(pointer: string): string {
  return pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce((path, part) => {
      if (/^\d+$/.test(part)) return `${path}[${part}]`;
      return path === "" ? part : `${path}.${part}`;
    }, "");
}
