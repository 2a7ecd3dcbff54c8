/** Reads a message from a handset out of a deliver_sm or data_sm that is no receipt. */
import { type Charset, charsetOf, decodeText } from "../../../shared/smpp/charset.ts";
import type { IncomingMessage } from "../../../shared/smpp/client-options.ts";
import { readPart } from "../../../shared/smpp/user-data-header.ts";
import type { InboundPart } from "../../domain/inbound-part.ts";

const ONLY_PART = { reference: 0, total: 1, sequence: 1 } as const;

/** `smscDefault` is the alphabet of data_coding 0. Binary content is read as Latin-1, so that nothing is lost. */
export function readInbound(message: IncomingMessage, smscDefault: Charset): InboundPart {
  const { body } = message;
  const { concatenation = ONLY_PART, octets } = readPart(message);
  const charset = charsetOf(body.dataCoding, smscDefault) ?? "latin1";
  return {
    from: body.sourceAddr,
    to: body.destinationAddr,
    body: decodeText(octets, charset),
    encoding: charset === "ucs2" ? "ucs2" : "gsm7",
    ...concatenation,
    carrierMessageId: "",
  };
}
