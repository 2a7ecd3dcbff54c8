import type { FieldError } from "../../services/shared/core/errors.ts";
import { compileSchema, refuse } from "./validate.ts";

/** One query parameter as a JSON schema; only an array may be repeated. */
export type ParameterSchema = {
  readonly type: "string" | "integer" | "boolean" | "array";
  readonly format?: string;
  readonly description: string;
  readonly [keyword: string]: unknown;
};

/** All query parameters of an operation. */
export type QuerySchema = Readonly<Record<string, ParameterSchema>>;

/** A parsed query string: values by name, and its faults. */
export type ParsedQuery = {
  readonly values: Readonly<Record<string, unknown>>;
  readonly faults: readonly FieldError[];
};

const EMPTY: ParsedQuery = { values: {}, faults: [] };

/** Compiles parameters into a parser of query strings (`application/x-www-form-urlencoded`). */
export function compileQuery(parameters: QuerySchema): (query: string) => ParsedQuery {
  const validate = compileSchema(
    {
      type: "object",
      additionalProperties: false,
      properties: parameters,
    },
    "parameter",
  );
  return (query) => {
    if (query === "") return EMPTY;
    const { values, faults } = readPairs(query, parameters);
    const known = new Set(faults.map(({ field }) => field));
    for (const found of validate(values)) {
      // Report a repeated parameter by its own name: `status`, not `status[0]`. Leave unknown names as sent.
      const isGiven = found.code === "unknown_field";
      const field = isGiven ? found.field : found.field.replace(/\[\d+\]$/, "");
      if (!known.has(field)) faults.push({ ...found, field });
      known.add(field);
    }
    return { values, faults };
  };
}

const readNothing = compileQuery({});

/** Throws for any query parameter: a misspelt one must not be ignored. */
export function refuseQuery(query: string): void {
  if (query !== "") refuse(readNothing(query).faults);
}

/** The faults of a query string on an operation without parameters. */
export function queryFaults(query: string): readonly FieldError[] {
  return readNothing(query).faults;
}

function readPairs(query: string, parameters: QuerySchema) {
  const values: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  const faults: FieldError[] = [];
  for (const pair of query.split("&")) {
    if (pair === "") continue;
    const equals = pair.indexOf("=");
    const rawName = equals < 0 ? pair : pair.slice(0, equals);
    const name = decode(rawName) ?? rawName;
    const text = decode(equals < 0 ? "" : pair.slice(equals + 1));
    const schema = Object.hasOwn(parameters, name) ? parameters[name] : undefined;
    if (text === undefined) {
      faults.push(
        fault(name, "invalid_format", "The value is not UTF-8 with percent-encoding (RFC 3986)."),
      );
    } else if (schema?.type === "array") {
      values[name] ??= [];
      (values[name] as string[]).push(text);
    } else if (schema !== undefined && Object.hasOwn(values, name)) {
      faults.push(fault(name, "invalid_value", "The parameter is given twice; give it once."));
    } else {
      values[name] = schema === undefined ? text : coerce(text, schema);
    }
  }
  return { values, faults };
}

/** Converts a text to its type; text that does not fit stays, and the schema refuses it. */
function coerce(text: string, schema: ParameterSchema): unknown {
  if (schema.type === "integer") return /^-?\d{1,15}$/.test(text) ? Number(text) : text;
  if (schema.type === "boolean") return text === "true" ? true : text === "false" ? false : text;
  // An unencoded + was decoded to a space; in a date-time it can only be the sign of the offset.
  if (schema.format === "date-time") return text.replace(/ (?=\d\d:\d\d$)/, "+");
  return text;
}

function decode(text: string): string | undefined {
  const spaced = text.includes("+") ? text.replaceAll("+", " ") : text;
  if (!spaced.includes("%")) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    return undefined;
  }
}

function fault(field: string, code: string, message: string): FieldError {
  return { field: field.slice(0, 100).toWellFormed(), code, message };
}
