const SEPARATOR = 10;
const PLUS = 11;
const UNKNOWN = 255;

/** More digits than any number with a prefix has: 15 of E.164, 009, a trunk 0, and some spare. */
const DIGITS_MAX = 20;

/** The value of each code unit that a number may contain: a digit 0 to 9, SEPARATOR or PLUS. */
const KIND = new Uint8Array(0x10000).fill(UNKNOWN);

// The digits that libphonenumber reads: ASCII, full-width, Arabic-Indic, Eastern Arabic-Indic.
for (const zero of [0x30, 0xff10, 0x660, 0x6f0]) {
  for (let digit = 0; digit < 10; digit++) KIND[zero + digit] = digit;
}
for (const plus of "+\uff0b") KIND[plus.charCodeAt(0)] = PLUS;

const SPACES = " \u00a0\u2000-\u200a\u202f\u205f\u3000";
const DASHES = "\\-\u2010-\u2015\u2212\uff0d";
const DOTS = ".\uff0e";
const BRACKETS = "()\\[\\]\uff08\uff09\uff3b\uff3d";
// Characters that address books and web pages add to a copied number: soft hyphens, zero-width spaces and marks
// of writing direction.
const INVISIBLE = "\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff";
const SEPARATORS = new RegExp(`[${SPACES}${DASHES}${DOTS}${BRACKETS}${INVISIBLE}]`);

for (let code = 0; code < KIND.length; code++) {
  if (SEPARATORS.test(String.fromCharCode(code))) KIND[code] = SEPARATOR;
}

/**
 * The ASCII digits of a written number, after a `+` if the text has one; undefined when the text holds anything
 * but one number. Spaces, dashes, dots and brackets may appear anywhere, tabs and line ends only around the
 * number. Letters, extensions, `*`, `#`, `/` and keycap emoji are refused, because their meaning cannot be
 * dialled.
 */
export function compactDialString(input: string): string | undefined {
  const text = input.trim();
  let dialled = "";
  for (let at = 0; at < text.length; at++) {
    const kind = KIND[text.charCodeAt(at)] as number;
    if (kind < SEPARATOR) {
      dialled += kind;
      if (dialled.length > DIGITS_MAX) return undefined;
    } else if (kind === PLUS) {
      if (dialled !== "") return undefined;
      dialled = "+";
    } else if (kind !== SEPARATOR) return undefined;
  }
  return dialled.length > 1 ? dialled : undefined;
}
