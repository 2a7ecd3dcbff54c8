import { AppError } from "../core/errors.ts";

/**
 * The value of an enumeration by its name, in any case. Undefined for unknown text, for a number (enumeration
 * objects also map numbers to names) and for `unspecified`.
 */
export function enumWord<T extends number>(
  values: Readonly<Record<string, string | T>>,
  text: string,
): T | undefined {
  const value = values[text.toUpperCase()];
  return typeof value === "number" && value !== 0 ? value : undefined;
}

/** The same; throws `validation_error` where `enumWord` has no value. `noun` names what the text should be. */
export function readEnumWord<T extends number>(
  values: Readonly<Record<string, string | T>>,
  text: string,
  noun: string,
): T {
  const value = enumWord(values, text);
  if (value !== undefined) return value;
  const known = Object.keys(values)
    .filter((name) => enumWord(values, name) !== undefined)
    .map((name) => name.toLowerCase());
  throw new AppError(
    "validation_error",
    `There is no ${noun} ${text}; there are: ${known.join(", ")}.`,
  );
}
