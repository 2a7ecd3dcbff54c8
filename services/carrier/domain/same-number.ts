/**
 * How well the number in a receipt fits the recipient of a submission:
 *
 * - `same`: the same digits, with or without plus, zeros in front and separators.
 * - `likely`: one is the end of the other, as in a national form or behind a carrier's prefix.
 * - `possible`: it proves nothing. It is missing, garbled or masked, or the carrier wrote it in another length with
 *   the same last digits (Argentina, Brazil and Mexico insert or drop digits of mobile numbers).
 * - `other`: a whole number of its own.
 */
export type NumberFit = "same" | "likely" | "possible" | "other";

/** Shorter numbers are short codes or remains of a number. */
const NUMBER_DIGITS_MIN = 7;

/** Compares the number in a receipt with a recipient in E.164 form; the plus may be missing in both. */
export function compareNumbers(written: string, recipient: string): NumberFit {
  if (written === recipient) return "same";
  const digits = digitsOf(written);
  const own = digitsOf(recipient) ?? "";
  if (digits === undefined) return "possible";
  if (digits === own) return "same";
  if (own.endsWith(digits) || digits.endsWith(own)) return "likely";
  const isRewritten = digits.length !== own.length && tailOf(digits) === tailOf(own);
  return isRewritten ? "possible" : "other";
}

/** The digits without zeros in front; undefined when the text is no whole number. */
function digitsOf(text: string): string | undefined {
  const bare = text.replace(/[\s().+/-]/g, "");
  if (!/^[0-9]+$/.test(bare)) return undefined;
  const digits = bare.replace(/^0+/, "");
  return digits.length < NUMBER_DIGITS_MIN ? undefined : digits;
}

function tailOf(digits: string): string {
  return digits.slice(-NUMBER_DIGITS_MIN);
}
