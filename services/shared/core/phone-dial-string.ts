const SEPARATOR = 10;
const PLUS = 11;
const UNKNOWN = 255;

/** More digits than any number has with a prefix: 15 of E.164, 009, a trunk 0, and some slack. */
const DIGITS_MAX = 20;

/** Value of each code unit that may stand in a number: a digit 0 to 9, SEPARATOR or PLUS. */
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
// What address books and web pages leave around a copied number: soft hyphen, zero-width spaces
// and the marks of writing direction.
const INVISIBLE = "\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff";
const SEPARATORS = new RegExp(`[${SPACES}${DASHES}${DOTS}${BRACKETS}${INVISIBLE}]`);

for (let code = 0; code < KIND.length; code++) {
  if (SEPARATORS.test(String.fromCharCode(code))) KIND[code] = SEPARATOR;
}

/**
 * The ASCII digits of a written number, after a `+` if one came before them; undefined when the
 * text holds anything but one number. Spaces, dashes, dots and brackets may stand anywhere, tabs
 * and line ends around the number only. Letters, extensions, `*`, `#`, `/` and emoji digits (a
 * digit with a keycap mark) are refused, for what they mean cannot be dialled.
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
