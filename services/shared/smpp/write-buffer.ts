import { encodePduInto, pduBytesMax } from "./codec.ts";
import type { OutgoingPdu } from "./pdu.ts";

const BLOCK_BYTES = 64 * 1024;

/**
 * Collects encoded PDUs, so that those of one event-loop iteration leave in one write. Octets that were handed out are
 * never overwritten, so none are copied.
 */
export class Output {
  #block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
  #start = 0;
  #end = 0;
  #full: Buffer[] = [];
  #fullBytes = 0;

  /** Octets that are collected and not taken yet. */
  get bytes(): number {
    return this.#fullBytes + this.#end - this.#start;
  }

  /** Appends a PDU. Throws EncodeError and then appends nothing. */
  add(pdu: OutgoingPdu): void {
    this.#reserve(pduBytesMax(pdu));
    this.#end = encodePduInto(pdu, this.#block, this.#end);
  }

  /** Appends raw octets. */
  addRaw(octets: Buffer): void {
    this.#reserve(octets.length);
    this.#end += octets.copy(this.#block, this.#end);
  }

  /** Takes all octets, oldest first. */
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
