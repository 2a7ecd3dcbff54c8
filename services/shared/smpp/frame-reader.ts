import { HEADER_BYTES } from "./codec.ts";
import { FrameError } from "./errors.ts";

/** Receives one whole frame; the octets are valid during the call, unless kept as views. */
export type FrameHandler = (buffer: Buffer, start: number, end: number) => void;

/**
 * Splits a byte stream into PDU frames by command_length. `frameBytesMax` bounds the memory: a longer or impossible
 * length throws FrameError as soon as its four octets arrive. Frames inside one chunk are not copied.
 */
export class FrameReader {
  readonly #frameBytesMax: number;
  readonly #onFrame: FrameHandler;
  #head = Buffer.alloc(4);
  #frame: Buffer | undefined;
  #have = 0;

  constructor(frameBytesMax: number, onFrame: FrameHandler) {
    this.#frameBytesMax = frameBytesMax;
    this.#onFrame = onFrame;
  }

  /** Whether a partial frame waits for more octets. */
  get hasPartialFrame(): boolean {
    return this.#have > 0;
  }

  /** Takes the next octets. After a FrameError the stream cannot be read further. */
  push(chunk: Buffer): void {
    let at = this.#have > 0 ? this.#complete(chunk) : 0;
    while (chunk.length - at >= 4) {
      const length = this.#checked(chunk.readUInt32BE(at));
      if (chunk.length - at < length) {
        this.#frame = Buffer.allocUnsafe(length);
        this.#have = chunk.copy(this.#frame, 0, at);
        return;
      }
      this.#onFrame(chunk, at, at + length);
      at += length;
    }
    if (at < chunk.length) this.#have = chunk.copy(this.#head, 0, at);
  }

  /** Appends to the partial frame; returns the number of octets taken. */
  #complete(chunk: Buffer): number {
    let at = 0;
    if (this.#frame === undefined) {
      at = chunk.copy(this.#head, this.#have);
      this.#have += at;
      if (this.#have < 4) return at;
      this.#frame = Buffer.allocUnsafe(this.#checked(this.#head.readUInt32BE(0)));
      this.#head.copy(this.#frame);
    }
    const taken = chunk.copy(this.#frame, this.#have, at);
    this.#have += taken;
    if (this.#have === this.#frame.length) {
      const frame = this.#frame;
      this.#frame = undefined;
      this.#have = 0;
      this.#onFrame(frame, 0, frame.length);
    }
    return at + taken;
  }

  #checked(length: number): number {
    if (length < HEADER_BYTES) throw new FrameError("too_short", length);
    if (length > this.#frameBytesMax) throw new FrameError("too_long", length);
    return length;
  }
}
