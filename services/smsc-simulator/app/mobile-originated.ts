import { recipientAddress, senderAddress } from "../../shared/smpp/addresses.ts";
import { encodeText } from "../../shared/smpp/charset.ts";
import { splitMessage } from "../../shared/smpp/message-parts.ts";
import { ControlError, objectOf } from "../domain/parse-behaviour.ts";
import type { Delivery } from "./deliveries.ts";

const TEXT_MAX = 1600;

/** A message from a handset: the body of `POST /mo`. */
export interface HandsetMessage {
  source: string;
  destination: string;
  text: string;
  /** The ESME that gets it; when absent every bound ESME that receives. */
  systemId: string | undefined;
}

/** Reads the body of `POST /mo`. Throws ControlError. */
export function parseHandsetMessage(input: unknown): HandsetMessage {
  const json = objectOf(input, "body");
  const { source, destination, text, system_id: systemId } = json;
  if (typeof source !== "string" || !/^\+?[0-9]{3,20}$/.test(source)) {
    throw new ControlError("source must be a number");
  }
  if (typeof destination !== "string" || !/^[\x21-\x7e]{1,20}$/.test(destination)) {
    throw new ControlError("destination must be 1 to 20 printable characters");
  }
  if (typeof text !== "string" || text.length === 0 || text.length > TEXT_MAX) {
    throw new ControlError(`text must be 1 to ${TEXT_MAX} characters`);
  }
  if (systemId !== undefined && typeof systemId !== "string") {
    throw new ControlError("system_id must be text");
  }
  return { source, destination, text, systemId };
}

/** Builds the deliver_sm of each part of a handset's message. */
export function handsetDeliveries(
  message: HandsetMessage,
  systemId: string,
  reference: number,
): Delivery[] {
  const encoding = encodeText(message.text, "gsm7") === undefined ? "ucs2" : "gsm7";
  const from = recipientAddress(message.source);
  const to = senderAddress(message.destination);
  const parts = splitMessage({ segments: [message.text], encoding, reference });
  return parts.map((part) => ({
    systemId,
    attempts: 0,
    body: {
      sourceAddrTon: from.ton,
      sourceAddrNpi: from.npi,
      sourceAddr: from.address,
      destAddrTon: to.ton,
      destAddrNpi: to.npi,
      destinationAddr: to.address,
      esmClass: part.esmClass,
      dataCoding: part.dataCoding,
      shortMessage: part.shortMessage,
    },
    tlvs: part.tlvs,
  }));
}
