import { GSM7_DEFAULT_ALPHABET, GSM7_EXTENSION, GSM7_SEPTETS } from "../core/gsm7.ts";

const ESCAPE = 0x1b;
const EXTENDED = 0x100;

/** The septet of each UTF-16 code unit, plus 0x100 for the extension table; 0xffff for other characters. */
const CODES = new Uint16Array(0x10000).fill(0xffff);
const EXTENDED_BY_CODE = new Map<number, string>(GSM7_EXTENSION);
for (let code = 0; code < 128; code++) {
  if (code !== ESCAPE) CODES[GSM7_DEFAULT_ALPHABET.charCodeAt(code)] = code;
}
for (const [code, character] of GSM7_EXTENSION) CODES[character.charCodeAt(0)] = code | EXTENDED;

/** The septets of a character: 1, 2 for the extension table, 0 for other characters. */
export function gsm7Septets(codeUnit: number): 0 | 1 | 2 {
  return GSM7_SEPTETS[codeUnit] as 0 | 1 | 2;
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
 * Decodes one septet per octet. After an escape, a code that the extension table lacks decodes as in the default
 * alphabet (3GPP TS 23.038 section 6.2.1.1). Octets above 127 decode as U+FFFD.
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
    else text += code < 128 ? GSM7_DEFAULT_ALPHABET.charAt(code) : "\ufffd";
  }
  return text;
}
