const NO_CHARACTER = "\u001b";

/**
 * The GSM 7-bit default alphabet, septet 0x00 first (3GPP TS 23.038 section 6.2.1). The place of
 * the escape septet 0x1B holds U+001B, which stands for no character and is never encoded.
 */
export const GSM7_DEFAULT_ALPHABET = [
  "@£$¥èéùìòÇ\nØø\rÅå",
  `Δ_ΦΓΛΩΠΨΣΘΞ${NO_CHARACTER}ÆæßÉ`,
  " !\"#¤%&'()*+,-./",
  "0123456789:;<=>?",
  "¡ABCDEFGHIJKLMNO",
  "PQRSTUVWXYZÄÖÑÜ§",
  "¿abcdefghijklmno",
  "pqrstuvwxyzäöñüà",
].join("");

/**
 * The default extension table: the septet after the escape, and its character (3GPP TS 23.038
 * section 6.2.1.1). 0x0A is the page break, which Unicode calls form feed.
 */
export const GSM7_EXTENSION: readonly (readonly [septet: number, character: string])[] = [
  [0x0a, "\f"],
  [0x14, "^"],
  [0x28, "{"],
  [0x29, "}"],
  [0x2f, "\\"],
  [0x3c, "["],
  [0x3d, "~"],
  [0x3e, "]"],
  [0x40, "|"],
  [0x65, "€"],
];

/**
 * The septets that each UTF-16 code unit takes: 1, 2 for an extension character, 0 outside the alphabet. It
 * covers every code unit, so a lookup needs no range check.
 */
export const GSM7_SEPTETS = new Uint8Array(0x10000);

for (const character of GSM7_DEFAULT_ALPHABET) {
  if (character !== NO_CHARACTER) GSM7_SEPTETS[character.charCodeAt(0)] = 1;
}
for (const [, character] of GSM7_EXTENSION) GSM7_SEPTETS[character.charCodeAt(0)] = 2;
