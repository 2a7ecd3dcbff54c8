import type { Pdu, PduOf } from "../../shared/smpp/pdu.ts";
import { type Concatenation, octetsOf, readPart } from "../../shared/smpp/user-data-header.ts";

type Submitted = PduOf<"submit_sm"> | PduOf<"data_sm">;

/**
 * The vendor parameter with the client's message id. It separates two messages with the same text to one number, and
 * identifies a message that is sent twice.
 */
export const MESSAGE_NAME_TAG = 0x1500;

/**
 * The identity of a submit; two submits with the same identity are duplicates. With a client id: that id and the
 * segment number. Otherwise sender, recipient, segment parameters, and all octets of the text with its header, so
 * another reference number makes another message.
 */
export function submitIdentity(pdu: Submitted): string {
  const { body, tlvs } = pdu;
  const name = tlvs.other?.find(({ tag }) => tag === MESSAGE_NAME_TAG);
  if (name !== undefined) {
    const place = placeOf(pdu)?.sequence ?? 0;
    return `${body.destinationAddr}/${name.value.toString("latin1")}/${place}`;
  }
  const sar = `${tlvs.sarMsgRefNum ?? ""}.${tlvs.sarSegmentSeqnum ?? ""}`;
  const own = `${sar}.${tlvs.userMessageReference ?? ""}.${body.dataCoding}`;
  return `${body.destinationAddr}/${body.sourceAddr}/${own}/${digest(octetsOf(pdu))}`;
}

/** The place of a part in its message; undefined for a message of one part. */
export function placeOf(pdu: Submitted): Concatenation | undefined {
  return readPart(pdu).concatenation;
}

/** Two FNV-1a hashes: 64 bits, so a pair of texts collides with probability 2^-64. */
function digest(octets: Buffer): string {
  let a = 0x811c9dc5;
  let b = 0x01000193;
  for (let i = 0; i < octets.length; i++) {
    const octet = octets[i] as number;
    a = Math.imul(a ^ octet, 0x01000193);
    b = Math.imul(b ^ (octet + i), 0x85ebca6b);
    b ^= b >>> 13;
  }
  return `${octets.length}.${(a >>> 0).toString(36)}.${(b >>> 0).toString(36)}`;
}

/** Whether a PDU submits one message to one recipient. */
export function isSubmit(pdu: Pdu): pdu is Submitted {
  return pdu.command === "submit_sm" || pdu.command === "data_sm";
}
