import { splitText } from "../../shared/core/segments.ts";
import { recipientAddress, senderAddress } from "../../shared/smpp/addresses.ts";
import { encodeText } from "../../shared/smpp/charset.ts";
import { splitMessage } from "../../shared/smpp/message-parts.ts";
import { arriving, type HandsetMessage, messagesOf } from "../domain/handset-message.ts";
import type { Callback, Callbacks } from "./callbacks.ts";
import type { Deliveries, Delivery } from "./deliveries.ts";

/** Sends messages from handsets over SMPP, or to the callback of an HTTP carrier; returns how many parts. */
export function createHandsets(ways: {
  readonly deliveries: Pick<Deliveries, "add">;
  readonly callbacks: Callbacks;
  /** The ESMEs that are bound and receive. */
  readonly receivers: () => readonly string[];
}): (burst: HandsetMessage) => number {
  let reference = 0;
  return (burst) => {
    const { url, systemId } = burst;
    const targets = systemId === undefined ? ways.receivers() : [systemId];
    let parts = 0;
    for (const { afterMs, ...one } of messagesOf(burst)) {
      reference = (reference + 1) & 0xff;
      const message = { ...burst, ...one };
      if (url === undefined) {
        const sent = targets.flatMap((target) => deliveriesOf(message, target, reference));
        for (const delivery of sent) ways.deliveries.add(delivery, afterMs);
        parts += sent.length;
      } else {
        const sent = callbacksOf(message, url, reference);
        for (const callback of sent) ways.callbacks.add(callback, afterMs);
        parts += sent.length;
      }
    }
    return parts;
  };
}

/** The deliver_sm of each part that arrives. */
function deliveriesOf(message: HandsetMessage, systemId: string, reference: number): Delivery[] {
  const { text, encoding, concatenation } = message;
  const isWide = encoding === undefined ? encodeText(text, "gsm7") === undefined : false;
  const from = recipientAddress(message.source);
  const to = senderAddress(message.destination);
  const parts = splitMessage({
    segments: [text],
    encoding: encoding === "ucs2" || isWide ? "ucs2" : "gsm7",
    charset: encoding === "latin1" ? "latin1" : "gsm7",
    concatenator: concatenation,
    reference,
  });
  return arriving(parts, message.parts).map((part) => ({
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

/** The callback of each part that arrives. */
function callbacksOf(message: HandsetMessage, url: string, reference: number): Callback[] {
  const { segments } = splitText(message.text);
  const { source: from, destination: to } = message;
  const parts = segments.map((text, at) => ({
    ...{ id: crypto.randomUUID(), from, to, text },
    ...(segments.length > 1 ? { reference, parts: segments.length, part: at + 1 } : {}),
  }));
  return arriving(parts, message.parts).map((body) => ({ url, body }));
}
