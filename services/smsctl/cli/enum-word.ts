/**
 * The value of an enumeration that a word names, in whatever case; undefined for any other text, for a number (an
 * enumeration knows its names by their numbers, too) and for `unspecified`.
 */
export function enumWord<T extends number>(
  values: Readonly<Record<string, string | T>>,
  text: string,
): T | undefined {
  const value = values[text.toUpperCase()];
  return typeof value === "number" && value !== 0 ? value : undefined;
}
