import type { Tlvs } from "./tlvs.ts";

/** esm_class: the text begins with a user data header (SMPP 3.4 section 5.2.12). */
export const HAS_HEADER = 0x40;

/** The position of a segment in its message. */
export interface Concatenation {
  reference: number;
  total: number;
  /** Counted from 1. */
  sequence: number;
}

/** Writes the user data header of a segment, 3GPP TS 23.040 sections 9.2.3.24.1 and 9.2.3.24.8. */
export function concatenationHeader(part: Concatenation, referenceBits: 8 | 16): Buffer {
  const { reference, total, sequence } = part;
  if (referenceBits === 8) return Buffer.from([5, 0x00, 3, reference & 0xff, total, sequence]);
  return Buffer.from([6, 0x08, 4, (reference >> 8) & 0xff, reference & 0xff, total, sequence]);
}

/** The header at the start of short_message, and the text after it. */
export interface UserData {
  concatenation: Concatenation | undefined;
  octets: Buffer;
}

/** Splits user data that begins with a header; an invalid header stays part of the text. */
export function readUserData(octets: Buffer): UserData {
  const end = 1 + (octets[0] ?? 0);
  if (octets.length === 0 || end > octets.length) return { concatenation: undefined, octets };
  let concatenation: Concatenation | undefined;
  for (let at = 1; at + 2 <= end; ) {
    const id = octets[at] as number;
    const length = octets[at + 1] as number;
    const from = at + 2;
    at = from + length;
    if (at > end) break;
    if (id === 0x00 && length === 3) {
      concatenation = {
        reference: octets[from] as number,
        total: octets[from + 1] as number,
        sequence: octets[from + 2] as number,
      };
    } else if (id === 0x08 && length === 4) {
      concatenation = {
        reference: octets.readUInt16BE(from),
        total: octets[from + 2] as number,
        sequence: octets[from + 3] as number,
      };
    }
  }
  return { concatenation, octets: octets.subarray(end) };
}

/** The text of a deliver_sm, submit_sm or data_sm: in short_message, or in message_payload. */
export function octetsOf({ body, tlvs }: CarriesText): Buffer {
  return body.shortMessage?.length ? body.shortMessage : (tlvs.messagePayload ?? NO_OCTETS);
}

/** The parts of a PDU that hold its text. */
type CarriesText = {
  readonly body: { readonly esmClass: number; readonly shortMessage?: Buffer };
  readonly tlvs: Tlvs;
};

const NO_OCTETS = Buffer.alloc(0);

/** The text without its header, and its place in a message of several parts, by header or by sar parameters. */
export function readPart(pdu: CarriesText): UserData {
  const whole = octetsOf(pdu);
  const hasHeader = (pdu.body.esmClass & HAS_HEADER) !== 0;
  const data: UserData = hasHeader
    ? readUserData(whole)
    : { concatenation: undefined, octets: whole };
  return { ...data, concatenation: data.concatenation ?? sarPlace(pdu.tlvs) };
}

function sarPlace({ sarMsgRefNum, sarTotalSegments, sarSegmentSeqnum }: Tlvs) {
  if (sarMsgRefNum === undefined) return undefined;
  if (sarTotalSegments === undefined || sarSegmentSeqnum === undefined) return undefined;
  return { reference: sarMsgRefNum, total: sarTotalSegments, sequence: sarSegmentSeqnum };
}
