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
