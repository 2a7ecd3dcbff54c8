/** The default alphabet of 3GPP TS 23.038 section 6.2.1 by code; 0x1b is the escape, here a zero. */
const DEFAULT_ALPHABET =
  "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞ\0ÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?" +
  "¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà";

/** The extension table of section 6.2.1.1: what follows the escape. */
const EXTENSION: readonly (readonly [code: number, character: string])[] = [
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

const ESCAPE = 0x1b;
const EXTENDED = 0x100;

/** By UTF-16 code unit: the code, with 0x100 added for the extension table, or 0xffff. */
const CODES = new Uint16Array(0x10000).fill(0xffff);
const EXTENDED_BY_CODE = new Map<number, string>(EXTENSION);
for (let code = 0; code < 128; code++) {
  if (code !== ESCAPE) CODES[DEFAULT_ALPHABET.charCodeAt(code)] = code;
}
for (const [code, character] of EXTENSION) CODES[character.charCodeAt(0)] = code | EXTENDED;

/** Returns the septets a character takes: 1, 2 for the extension table, 0 when it is in neither. */
export function gsm7Septets(codeUnit: number): 0 | 1 | 2 {
  const code = CODES[codeUnit] as number;
  if (code === 0xffff) return 0;
  return code >= EXTENDED ? 2 : 1;
}

/** Encodes text one septet per octet; undefined when a character is outside the alphabet. */
export function encodeGsm7(text: string): Buffer | undefined {
  const out = Buffer.allocUnsafe(text.length * 2);
  let at = 0;
  for (let i = 0; i < text.length; i++) {
    const code = CODES[text.charCodeAt(i)] as number;
    if (code === 0xffff) return undefined;
    if (code >= EXTENDED) out[at++] = ESCAPE;
    out[at++] = code & 0xff;
  }
  return out.subarray(0, at);
}

/**
 * Decodes one septet per octet. An escape before a code that the extension table lacks shows the
 * default character (section 6.2.1.1); octets above 127 show as U+FFFD.
 */
export function decodeGsm7(octets: Uint8Array): string {
  let text = "";
  for (let i = 0; i < octets.length; i++) {
    let code = octets[i] as number;
    if (code === ESCAPE) {
      if (++i >= octets.length) break;
      code = octets[i] as number;
      const extended = EXTENDED_BY_CODE.get(code);
      if (extended !== undefined) {
        text += extended;
        continue;
      }
    }
    if (code === ESCAPE) text += " ";
    else text += code < 128 ? DEFAULT_ALPHABET.charAt(code) : "\ufffd";
  }
  return text;
}
