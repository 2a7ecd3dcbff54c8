import { encodePduInto, pduBytesMax } from "./codec.ts";
import type { OutgoingPdu } from "./pdu.ts";

const BLOCK_BYTES = 64 * 1024;

/**
 * Gathers encoded PDUs so that those of one turn of the event loop leave in one write. A block is
 * never written to again where it has been handed out, so nothing is copied and nothing is reused.
 */
export class Output {
  #block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
  #start = 0;
  #end = 0;
  #full: Buffer[] = [];
  #fullBytes = 0;

  /** Octets gathered and not taken yet. */
  get bytes(): number {
    return this.#fullBytes + this.#end - this.#start;
  }

  /** Encodes a PDU behind the others. Throws EncodeError and then leaves no trace of it. */
  add(pdu: OutgoingPdu): void {
    this.#reserve(pduBytesMax(pdu));
    this.#end = encodePduInto(pdu, this.#block, this.#end);
  }

  /** Adds octets as they are. */
  addRaw(octets: Buffer): void {
    this.#reserve(octets.length);
    this.#end += octets.copy(this.#block, this.#end);
  }

  /** Hands out what is there, oldest first. */
  take(): Buffer[] {
    const blocks = this.#full;
    this.#full = [];
    this.#fullBytes = 0;
    if (this.#end > this.#start) blocks.push(this.#block.subarray(this.#start, this.#end));
    this.#start = this.#end;
    return blocks;
  }

  #reserve(bytes: number): void {
    if (this.#block.length - this.#end >= bytes) return;
    if (this.#end > this.#start) {
      this.#full.push(this.#block.subarray(this.#start, this.#end));
      this.#fullBytes += this.#end - this.#start;
    }
    this.#block = Buffer.allocUnsafeSlow(Math.max(BLOCK_BYTES, bytes));
    this.#start = 0;
    this.#end = 0;
  }
}
