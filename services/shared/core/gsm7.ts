/** The escape septet that leads to the extension table (3GPP TS 23.038 section 6.2.1). */
export const GSM7_ESCAPE = 0x1b;

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

const EXTENDED = 0x80;

/** Septet of each UTF-16 code unit, with the EXTENDED bit for the extension table; 0xFF: none. */
const SEPTET_BY_CODE_UNIT = new Uint8Array(0x10000).fill(0xff);

/**
 * How many septets each UTF-16 code unit costs: 1, 2 for an extension character, 0 when it is not
 * in the alphabet. It covers every code unit, so that a look-up needs no range check.
 */
export const GSM7_SEPTETS = new Uint8Array(0x10000);

const EXTENSION_BY_SEPTET = new Map(GSM7_EXTENSION);

for (let septet = 0; septet < 128; septet++) {
  if (septet === GSM7_ESCAPE) continue;
  SEPTET_BY_CODE_UNIT[GSM7_DEFAULT_ALPHABET.charCodeAt(septet)] = septet;
  GSM7_SEPTETS[GSM7_DEFAULT_ALPHABET.charCodeAt(septet)] = 1;
}
for (const [septet, character] of GSM7_EXTENSION) {
  SEPTET_BY_CODE_UNIT[character.charCodeAt(0)] = EXTENDED | septet;
  GSM7_SEPTETS[character.charCodeAt(0)] = 2;
}

/**
 * The text as unpacked septets, one a byte, each extension character as the escape and its septet
 * (3GPP TS 23.038 section 6.2.1). Throws RangeError when a character is outside the alphabet.
 */
export function gsm7Encode(text: string): Uint8Array {
  const septets = new Uint8Array(text.length * 2);
  let length = 0;
  for (let at = 0; at < text.length; at++) {
    const septet = SEPTET_BY_CODE_UNIT[text.charCodeAt(at)] ?? 0xff;
    if (septet === 0xff) throw new RangeError(`the character at ${at} is not in GSM 7-bit`);
    if (septet & EXTENDED) septets[length++] = GSM7_ESCAPE;
    septets[length++] = septet & 0x7f;
  }
  return septets.slice(0, length);
}

/**
 * The text that unpacked septets stand for. What a well-made sender never writes is shown as a
 * handset must show it (3GPP TS 23.038 section 6.2.1.1): an escape before a septet that the
 * extension table lacks shows the default character, an escape before an escape or at the end
 * shows a space. Throws RangeError when a byte exceeds 7 bits.
 */
export function gsm7Decode(septets: Uint8Array): string {
  let text = "";
  for (let at = 0; at < septets.length; at++) {
    let septet = septets[at] ?? 0;
    if (septet > 0x7f) throw new RangeError(`the byte at ${at} is not a septet`);
    if (septet !== GSM7_ESCAPE) {
      text += GSM7_DEFAULT_ALPHABET[septet];
      continue;
    }
    at++;
    septet = septets[at] ?? GSM7_ESCAPE;
    if (septet > 0x7f) throw new RangeError(`the byte at ${at} is not a septet`);
    if (septet === GSM7_ESCAPE) text += " ";
    else text += EXTENSION_BY_SEPTET.get(septet) ?? GSM7_DEFAULT_ALPHABET[septet];
  }
  return text;
}
