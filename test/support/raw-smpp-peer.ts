import type { Socket } from "node:net";
import { decodePdu, encodePdu } from "../../services/shared/smpp/codec.ts";
import { FrameReader } from "../../services/shared/smpp/frame-reader.ts";
import type { OutgoingPdu, Pdu } from "../../services/shared/smpp/pdu.ts";
import { eventually } from "./poll.ts";

/** The other end of a session, under the test's full control. */
export class RawPeer {
  readonly received: Pdu[] = [];
  readonly socket: Socket;
  isEnded = false;

  constructor(socket: Socket) {
    this.socket = socket;
    const frames = new FrameReader(1 << 20, (buffer, start, end) => {
      this.received.push(decodePdu(buffer, start, end));
    });
    socket.on("data", (chunk: Buffer) => frames.push(chunk));
    socket.on("end", () => {
      this.isEnded = true;
    });
    socket.on("error", () => {});
  }

  send(...pdus: OutgoingPdu[]): void {
    this.socket.write(Buffer.concat(pdus.map((pdu) => encodePdu(pdu))));
  }

  /** Waits for the nth PDU of a command. */
  async got<C extends Pdu["command"]>(command: C, nth = 1): Promise<Extract<Pdu, { command: C }>> {
    const found = await eventually(
      () => this.received.filter((pdu) => pdu.command === command)[nth - 1],
      {
        what: `${command} number ${nth}`,
      },
    );
    return found as Extract<Pdu, { command: C }>;
  }
}
