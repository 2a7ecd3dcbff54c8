import { decodeGsm7, encodeGsm7, gsm7Septets } from "./gsm7.ts";

/** Character sets: GSM 7-bit one septet per octet, Latin-1, ASCII, or UCS-2 (big-endian). */
export type Charset = "gsm7" | "latin1" | "ascii" | "ucs2";

/** The data_coding of each character set, SMPP 3.4 section 5.2.19. */
export const DATA_CODING = {
  gsm7: 0x00,
  ascii: 0x01,
  latin1: 0x03,
  ucs2: 0x08,
} as const satisfies Record<Charset, number>;

/** Encodes text; undefined when a character is outside the set. Never changes a character. */
export function encodeText(text: string, charset: Charset): Buffer | undefined {
  if (charset === "gsm7") return encodeGsm7(text);
  if (charset === "ucs2") return Buffer.from(text, "utf16le").swap16();
  const highest = charset === "ascii" ? 0x7f : 0xff;
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > highest) return undefined;
  return Buffer.from(text, "latin1");
}

/** Decodes text; ignores an odd octet at the end of UCS-2. */
export function decodeText(octets: Buffer, charset: Charset): string {
  if (charset === "gsm7") return decodeGsm7(octets);
  if (charset !== "ucs2") return octets.toString("latin1");
  return Buffer.from(octets.subarray(0, octets.length & ~1))
    .swap16()
    .toString("utf16le");
}

/**
 * The character set of a received data_coding; undefined for binary. 0 is the SMSC's default, which the connector sets.
 * Message class groups of 3GPP TS 23.038 section 4 count too.
 */
export function charsetOf(dataCoding: number, smscDefault: Charset): Charset | undefined {
  if (dataCoding === 0x00) return smscDefault;
  if (dataCoding === 0x01) return "ascii";
  if (dataCoding === 0x03) return "latin1";
  if (dataCoding === 0x08) return "ucs2";
  if (dataCoding >= 0xf0) return (dataCoding & 0x04) === 0 ? smscDefault : undefined;
  if (dataCoding >= 0x10 && dataCoding <= 0x3f) {
    const alphabet = (dataCoding >> 2) & 3;
    if (alphabet === 2) return "ucs2";
    return alphabet === 0 ? smscDefault : undefined;
  }
  return undefined;
}

/**
 * The units of a code unit on the air: one in UCS-2, else its septets, because the SMSC converts Latin-1 and ASCII to
 * GSM 7-bit and replaces characters that the alphabet lacks.
 */
export function unitsOf(codeUnit: number, charset: Charset): number {
  if (charset === "ucs2") return 1;
  const septets = gsm7Septets(codeUnit);
  return charset === "gsm7" ? septets : septets || 1;
}
