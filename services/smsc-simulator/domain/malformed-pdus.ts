import { encodePdu } from "../../shared/smpp/codec.ts";
import type { Pdu } from "../../shared/smpp/pdu.ts";

const HUGE_BYTES = 16 * 1024 * 1024;

/** The valid answer to a submit, as octets. */
export function answerOctets(request: Pdu, messageId: string): Buffer {
  const command = request.command === "data_sm" ? "data_sm_resp" : "submit_sm_resp";
  return encodePdu({ command, sequence: request.sequence, body: { messageId } });
}

/** An answer with a command_length that is too small or too large. */
export function misstatedLength(request: Pdu, messageId: string, byBytes: number): Buffer {
  const octets = answerOctets(request, messageId);
  octets.writeUInt32BE(octets.length + byBytes, 0);
  return octets;
}

/** A header whose command_length is zero. */
export function zeroLength(): Buffer {
  return Buffer.alloc(16);
}

/** A header that announces 16 MiB. */
export function hugeLength(): Buffer {
  return header(HUGE_BYTES, 0x00000005, 1);
}

/** A whole PDU of a command that SMPP 3.4 does not define. */
export function unknownCommand(): Buffer {
  return header(16, 0x00000999, 0x41000000);
}

/** A deliver_sm of valid length whose body ends inside its first field. */
export function badBody(): Buffer {
  return Buffer.concat([header(19, 0x00000005, 0x41000001), Buffer.from("abc")]);
}

/** An accepting answer whose message id has no end. */
export function badAnswer(request: Pdu): Buffer {
  const command = request.command === "data_sm" ? 0x80000103 : 0x80000004;
  return Buffer.concat([header(19, command, request.sequence), Buffer.from("abc")]);
}

/** A deliver_sm for a link that is not bound. */
export function deliverBeforeBind(): Buffer {
  return encodePdu({
    command: "deliver_sm",
    sequence: 0x41000002,
    body: { sourceAddr: "100", destinationAddr: "200", shortMessage: Buffer.from("early") },
  });
}

/** An outbind, which an SMSC sends to an ESME to which it has connected. */
export function outbind(): Buffer {
  const body = { systemId: "simulator", password: "" };
  return encodePdu({ command: "outbind", sequence: 0x41000003, body });
}

function header(length: number, command: number, sequence: number): Buffer {
  const octets = Buffer.alloc(16);
  octets.writeUInt32BE(length, 0);
  octets.writeUInt32BE(command, 4);
  octets.writeUInt32BE(sequence, 12);
  return octets;
}
