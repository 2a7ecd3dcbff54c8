/** Values as text for people. Nothing is shown as JSON: `-o json` has every field as it is. */
import { formatShort, formatWhen } from "./time.ts";

/** A JSON value. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** A JSON object, such as a row of a list. */
export type Row = { [name: string]: Json };

/** Names of fields with instants. */
const INSTANT = /(^|_)(at|of|since|until)$/;

/** Whether a value is an object and no list. */
export function isRow(value: Json | undefined): value is Row {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Escapes control characters (ECMA-48) as JSON does: customers' texts may hold terminal commands. */
export function visible(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches control characters.
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, (character) => {
    const code = character.charCodeAt(0).toString(16).padStart(4, "0");
    return `\\u${code}`;
  });
}

/** The field at a path such as `error.code`. */
export function fieldAt(row: Row, path: string): Json {
  if (Object.hasOwn(row, path)) return row[path] ?? null;
  let value: Json | undefined = row;
  for (const name of path.split(".")) {
    if (!isRow(value)) return null;
    value = value[name];
  }
  return value ?? null;
}

/** How instants are shown: in UTC or in the local zone, and with `isShort` without the present year. */
export type TimeStyle = { readonly isUtc: boolean; readonly isShort?: boolean };

/** A value in one line; `name` is the field's. A list of objects is shown as their number. */
export function cellText(name: string, value: Json, style: TimeStyle): string {
  if (value === null) return "";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return String(value);
  if (typeof value === "string") {
    if (!INSTANT.test(name)) return visible(value);
    const { isUtc } = style;
    return visible(
      style.isShort === true ? formatShort(value, isUtc, Date.now()) : formatWhen(value, isUtc),
    );
  }
  if (Array.isArray(value)) {
    if (value.some((item) => typeof item === "object" && item !== null)) {
      return value.length === 0 ? "" : String(value.length);
    }
    return value.map((item) => cellText("", item, style)).join(", ");
  }
  return Object.entries(value)
    .map(([key, item]) => [key, cellText(key, item, style)] as const)
    .filter(([, text]) => text !== "")
    .map(([key, text]) => `${key}=${text}`)
    .join(" ");
}
