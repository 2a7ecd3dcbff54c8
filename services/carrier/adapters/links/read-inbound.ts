/** Reads a message from a handset out of a deliver_sm or data_sm that is no receipt. */
import { type Charset, charsetOf, decodeText } from "../../../shared/smpp/charset.ts";
import type { IncomingMessage } from "../../../shared/smpp/client-options.ts";
import { readUserData } from "../../../shared/smpp/user-data-header.ts";
import type { InboundPart } from "../../domain/inbound-part.ts";

/** esm_class: the text begins with a user data header (SMPP 3.4 section 5.2.12). */
const HAS_HEADER = 0x40;

/** `smscDefault` is the alphabet of data_coding 0. Binary content is read as Latin-1, so that nothing is lost. */
export function readInbound(
  { command, body, tlvs }: IncomingMessage,
  smscDefault: Charset,
): InboundPart {
  const short = command === "deliver_sm" ? body.shortMessage : undefined;
  const raw = short?.length ? short : (tlvs.messagePayload ?? Buffer.alloc(0));
  const hasHeader = (body.esmClass & HAS_HEADER) !== 0;
  const userData = hasHeader ? readUserData(raw) : { concatenation: undefined, octets: raw };
  const charset = charsetOf(body.dataCoding, smscDefault) ?? "latin1";
  const part = userData.concatenation ?? {
    reference: tlvs.sarMsgRefNum ?? 0,
    total: tlvs.sarTotalSegments ?? 1,
    sequence: tlvs.sarSegmentSeqnum ?? 1,
  };
  return {
    from: body.sourceAddr,
    to: body.destinationAddr,
    body: decodeText(userData.octets, charset),
    encoding: charset === "ucs2" ? "ucs2" : "gsm7",
    ...part,
  };
}
