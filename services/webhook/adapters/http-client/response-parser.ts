/**
 * Reads one answer of HTTP/1.1 (RFC 9112) from its octets, in whatever pieces they come.
 *
 *   head → head (an interim answer) | body | chunk_size | done
 *   chunk_size → chunk → chunk_end → chunk_size | trailers → done
 *
 * - head: first. Left by the empty line after the header fields.
 * - body: so many octets, or all until the connection ends.
 * - chunk_size: the line before a chunk; a size of 0 leads to the trailers.
 * - chunk: its octets. chunk_end: the line end behind them.
 * - trailers: fields after the last chunk, not kept. Left by an empty line.
 * - done: entered at the end of the answer, or where enough of it was read.
 * - faulty: entered from any other when the octets break a rule or a bound, or end too early.
 *
 * However the octets are cut into pieces, the result is the same.
 */
import { readAnswerHead } from "./response-head.ts";

/** Of an answer's body so much is read; what goes on for longer is cut off. */
export const ANSWER_BYTES_MAX = 16_384;

/** Of an answer's body so much is kept for the log. */
export const ANSWER_KEPT_BYTES = 1024;

/** Longest head, its empty line included, and longest trailers. */
export const HEAD_BYTES_MAX = 16_384;

/** Longest line among chunks: a size with its extensions, or a trailer. */
const LINE_BYTES_MAX = 1024;

/** So many interim answers (100 Continue, 102 Processing) may come before the one that counts. */
export const INTERIM_MAX = 64;

const HEAD_END = Buffer.from("\r\n\r\n");
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const BEGINNING = "HTTP/1.";

type State =
  | "head"
  | "body"
  | "chunk_size"
  | "chunk"
  | "chunk_end"
  | "trailers"
  | "done"
  | "faulty";

/** The reader of one answer. */
export class AnswerReader {
  #state: State = "head";
  /** 0 until the head is there. */
  httpStatus = 0;
  /** Whether any octet has come. */
  hasBegun = false;
  /** Once done: whether the connection may be used again. */
  isReusable = false;
  /** For how long the server says it keeps the idle connection. */
  keepAliveMs: number | undefined = undefined;
  /** A head that came in pieces, so far. */
  #head: Buffer | undefined = undefined;
  #headBytes = 0;
  #interims = 0;
  /** Octets of the body or of the chunk still to come. */
  #left = 0;
  #bodyBytes = 0;
  readonly #kept: Buffer[] = [];
  /** A line among the chunks, so far. */
  #line = "";
  #trailerBytes = 0;

  get isDone(): boolean {
    return this.#state === "done";
  }

  get isFaulty(): boolean {
    return this.#state === "faulty";
  }

  /** The first octets of the body as text; what is not UTF-8 shows as replacement characters. */
  get text(): string {
    const [first] = this.#kept;
    if (first === undefined) return "";
    return (this.#kept.length === 1 ? first : Buffer.concat(this.#kept)).toString("utf8");
  }

  /** Takes the next octets. Octets behind the end make the connection unusable. */
  push(chunk: Buffer): void {
    this.hasBegun = true;
    let at = 0;
    while (at < chunk.length) {
      if (this.#state === "head") at = this.#takeHead(chunk, at);
      else if (this.#state === "body" || this.#state === "chunk") at = this.#takeBody(chunk, at);
      else if (this.#state === "done") {
        this.isReusable = false;
        return;
      } else if (this.#state === "faulty") return;
      else at = this.#takeLine(chunk, at);
    }
  }

  /** Says that nothing more comes: the end of a body without a length, and too early otherwise. */
  end(): void {
    const isEnd = this.#state === "body" && this.#left === Number.POSITIVE_INFINITY;
    if (this.#state !== "done") this.#state = isEnd ? "done" : "faulty";
  }

  /** A head that lies whole in one piece is read where it lies. */
  #takeHead(chunk: Buffer, at: number): number {
    if (this.#head !== undefined) return this.#completeHead(this.#head, chunk, at);
    const end = chunk.indexOf(HEAD_END, at);
    if (end < 0) {
      this.#head = Buffer.allocUnsafe(HEAD_BYTES_MAX);
      return this.#completeHead(this.#head, chunk, at);
    }
    if (end + HEAD_END.length - at > HEAD_BYTES_MAX) this.#state = "faulty";
    else this.#readHead(chunk.toString("latin1", at, end));
    return end + HEAD_END.length;
  }

  /** Adds to a head in pieces; answers where in the piece it ends. */
  #completeHead(head: Buffer, chunk: Buffer, at: number): number {
    const before = this.#headBytes;
    const bytes = before + chunk.copy(head, before, at);
    const end = head.subarray(0, bytes).indexOf(HEAD_END, Math.max(0, before - 3));
    if (end >= 0) {
      this.#head = undefined;
      this.#headBytes = 0;
      this.#readHead(head.toString("latin1", 0, end));
      return at + end + HEAD_END.length - before;
    }
    this.#headBytes = bytes;
    // What can no longer become a head is not waited for until the time is up.
    const beginning = head.toString("latin1", 0, Math.min(bytes, BEGINNING.length));
    const isHopeless = !BEGINNING.startsWith(beginning) || hasBareLineFeed(head, before, bytes);
    if (isHopeless || bytes === HEAD_BYTES_MAX) this.#state = "faulty";
    return chunk.length;
  }

  #readHead(text: string): void {
    const head = readAnswerHead(text);
    if (head === undefined) {
      this.#state = "faulty";
      return;
    }
    if (head.httpStatus < 200 && head.httpStatus !== 101) {
      this.#interims += 1;
      if (this.#interims > INTERIM_MAX) this.#state = "faulty";
      return;
    }
    this.httpStatus = head.httpStatus;
    this.isReusable = head.isReusable;
    this.keepAliveMs = head.keepAliveMs;
    if (head.body === "chunked") this.#state = "chunk_size";
    else if (head.body === 0) this.#state = "done";
    else {
      this.#left = head.body;
      this.#state = "body";
    }
  }

  #takeBody(chunk: Buffer, at: number): number {
    const end = Math.min(chunk.length, at + this.#left);
    const room = ANSWER_KEPT_BYTES - this.#bodyBytes;
    if (room > 0) this.#kept.push(chunk.subarray(at, Math.min(end, at + room)));
    this.#bodyBytes += end - at;
    this.#left -= end - at;
    if (this.#bodyBytes > ANSWER_BYTES_MAX) {
      this.isReusable = false;
      this.#state = "done";
      return chunk.length;
    }
    if (this.#left === 0) this.#state = this.#state === "chunk" ? "chunk_end" : "done";
    return end;
  }

  #takeLine(chunk: Buffer, at: number): number {
    const feed = chunk.indexOf(LINE_FEED, at);
    this.#line += chunk.toString("latin1", at, feed < 0 ? chunk.length : feed);
    if (this.#line.length > LINE_BYTES_MAX) this.#state = "faulty";
    if (feed < 0) return chunk.length;
    const line = this.#line;
    this.#line = "";
    if (!line.endsWith("\r")) this.#state = "faulty";
    if (this.#state !== "faulty") this.#readLine(line.slice(0, -1));
    return feed + 1;
  }

  #readLine(line: string): void {
    if (this.#state === "chunk_end") this.#state = line === "" ? "chunk_size" : "faulty";
    else if (this.#state === "chunk_size") {
      const size = /^([0-9a-f]{1,13})[ \t]*(?:;[^\r]*)?$/i.exec(line)?.[1];
      this.#left = size === undefined ? 0 : Number.parseInt(size, 16);
      if (size === undefined) this.#state = "faulty";
      else this.#state = this.#left === 0 ? "trailers" : "chunk";
    } else if (line === "") this.#state = "done";
    else {
      this.#trailerBytes += line.length;
      const isField = /^[^\s:]+:[^\r]*$/.test(line);
      if (!isField || this.#trailerBytes > HEAD_BYTES_MAX) this.#state = "faulty";
    }
  }
}

/** Tells whether a line ends without its carriage return, in octets that came just now. */
function hasBareLineFeed(head: Buffer, from: number, to: number): boolean {
  for (let at = head.indexOf(LINE_FEED, from); at >= 0 && at < to; ) {
    if (head[at - 1] !== CARRIAGE_RETURN) return true;
    at = head.indexOf(LINE_FEED, at + 1);
  }
  return false;
}
