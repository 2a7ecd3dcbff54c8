import type { Pdu, PduOf } from "../../shared/smpp/pdu.ts";
import { readUserData } from "../../shared/smpp/user-data-header.ts";

/**
 * The vendor's optional parameter in which a client may name its message, so that two messages of one
 * text to one number are told apart and one message sent twice is recognised.
 */
export const MESSAGE_NAME_TAG = 0x1500;

/**
 * Returns what makes a submit the same as another. With a name: the name and the segment's place. Else
 * sender, recipient, optional parameters that number segments, and all octets of the text with its
 * header, so another reference number makes another message.
 */
export function submitIdentity(pdu: PduOf<"submit_sm"> | PduOf<"data_sm">): string {
  const { body, tlvs } = pdu;
  const text = pdu.command === "submit_sm" ? pdu.body.shortMessage : NO_OCTETS;
  const name = tlvs.other?.find(({ tag }) => tag === MESSAGE_NAME_TAG);
  if (name !== undefined) {
    const hasHeader = (body.esmClass & 0x40) !== 0;
    const place = hasHeader ? readUserData(text).concatenation?.sequence : tlvs.sarSegmentSeqnum;
    return `${body.destinationAddr}/${name.value.toString("latin1")}/${place ?? 0}`;
  }
  const octets = text.length > 0 ? text : (tlvs.messagePayload ?? NO_OCTETS);
  const sar = `${tlvs.sarMsgRefNum ?? ""}.${tlvs.sarSegmentSeqnum ?? ""}`;
  const own = `${sar}.${tlvs.userMessageReference ?? ""}.${body.dataCoding}`;
  return `${body.destinationAddr}/${body.sourceAddr}/${own}/${digest(octets)}`;
}

const NO_OCTETS = Buffer.alloc(0);

/** Two lanes of FNV-1a: short, and a chance of 2^-64 for a pair of texts to look alike. */
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

/** Tells whether a PDU submits one message to one recipient. */
export function isSubmit(pdu: Pdu): pdu is PduOf<"submit_sm"> | PduOf<"data_sm"> {
  return pdu.command === "submit_sm" || pdu.command === "data_sm";
}
