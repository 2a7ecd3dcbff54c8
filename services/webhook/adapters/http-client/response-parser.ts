/**
 * Parses one HTTP/1.1 response (RFC 9112) from octets that arrive in any pieces. The pieces do not
 * change the result.
 *
 *   head → head (an interim response) | interim → head | body | chunk_size | done
 *   chunk_size → chunk → chunk_end → chunk_size | trailers → done
 *
 * - head: the start. The empty line after the header fields ends it. A 2xx status line is success,
 *   regardless of the rest (`docs/contract.md#webhook-delivery`), so a 2xx head may also be too
 *   long, break a rule or break off.
 * - interim: the rest of the head of an interim response that is longer than a head may be; it says nothing about the
 *   final response.
 * - body: a known number of octets, or all octets until the connection ends.
 * - chunk_size: the line before a chunk; a size of 0 leads to the trailers.
 * - chunk: the octets of a chunk. chunk_end: the line end after them.
 * - trailers: fields after the last chunk, not kept. An empty line ends them.
 * - done: the response has ended, or enough of it was read.
 * - faulty: entered from any other state when the octets break a rule or a limit, or end too early.
 */
import { isInterimStatus, parseResponseHead, parseSuccessStatus } from "./response-head.ts";

/** Octets of a body that are read; the connection of a longer body is closed. */
export const BODY_BYTES_MAX = 16_384;

/** Octets of a body that the delivery log keeps. */
export const BODY_KEPT_BYTES = 1024;

/** Longest head that is parsed, its empty line included, and longest trailers. */
export const HEAD_BYTES_MAX = 16_384;

/** Longest line among chunks: a size with its extensions, or a trailer. */
const LINE_BYTES_MAX = 1024;

/** Octets of long interim heads that are skipped. */
export const INTERIM_BYTES_MAX = 262_144;

/** Interim responses (100 Continue, 102 Processing) accepted before the final response. */
export const INTERIM_MAX = 64;

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const BEGINNING = "HTTP/1.";

type State =
  | "head"
  | "interim"
  | "body"
  | "chunk_size"
  | "chunk"
  | "chunk_end"
  | "trailers"
  | "done"
  | "faulty";

export class ResponseParser {
  #state: State = "head";
  /** 0 until the head is complete, or until its status line is complete and says 2xx. */
  httpStatus = 0;
  /** Once done: whether the connection may carry another request. */
  isReusable = false;
  /** How long the server says it keeps an idle connection. */
  keepAliveMs: number | undefined = undefined;
  /** The octets so far of a head that arrives in pieces. */
  #head: Buffer | undefined = undefined;
  #headBytes = 0;
  #interims = 0;
  #interimBytes = 0;
  /** Of an interim head that is skipped: whether its current line has no octets yet. */
  #isLineEmpty = false;
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

  /** Takes the next octets. Octets after the end make the connection unusable. */
  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#state === "head") at = this.#takeHead(chunk, at);
      else if (this.#state === "interim") at = this.#skipInterim(chunk, at);
      else if (this.#state === "body" || this.#state === "chunk") at = this.#takeBody(chunk, at);
      else if (this.#state === "done") {
        this.isReusable = false;
        return;
      } else if (this.#state === "faulty") return;
      else at = this.#takeLine(chunk, at);
    }
  }

  /** Ends the input. It ends a body without a length and a 2xx head, and is too early otherwise. */
  end(): void {
    const isEnd =
      (this.#state === "body" && this.#left === Number.POSITIVE_INFINITY) ||
      (this.#state === "head" && this.httpStatus !== 0);
    if (this.#state !== "done") this.#state = isEnd ? "done" : "faulty";
  }

  /** Parses a complete head in place. */
  #takeHead(chunk: Buffer, at: number): number {
    if (this.#head !== undefined) return this.#completeHead(this.#head, chunk, at);
    const end = endOfHead(chunk, at);
    if (end < 0 || end - at > HEAD_BYTES_MAX) {
      this.#head = Buffer.allocUnsafe(HEAD_BYTES_MAX);
      return this.#completeHead(this.#head, chunk, at);
    }
    this.#readHead(chunk.toString("latin1", at, end));
    return end;
  }

  /** Adds octets to a head that arrives in pieces; returns how far the piece was read. */
  #completeHead(head: Buffer, chunk: Buffer, at: number): number {
    const before = this.#headBytes;
    const bytes = before + chunk.copy(head, before, at);
    const end = endOfHead(head.subarray(0, bytes), Math.max(0, before - 2));
    if (end >= 0) {
      this.#head = undefined;
      this.#headBytes = 0;
      this.#readHead(head.toString("latin1", 0, end));
      return at + end - before;
    }
    this.#headBytes = bytes;
    // Fail at once, not at the timeout, when the octets can no longer become a head.
    const beginning = head.toString("latin1", 0, Math.min(bytes, BEGINNING.length));
    if (!BEGINNING.startsWith(beginning)) this.#state = "faulty";
    else if (bytes === HEAD_BYTES_MAX && isInterimStatus(head.toString("latin1")))
      this.#beginInterim(head);
    else if (bytes === HEAD_BYTES_MAX) this.#endHead(head.toString("latin1"));
    else this.#readStatusLine(head.subarray(0, bytes), before);
    return at + bytes - before;
  }

  /** Notes a 2xx as soon as its line is complete; `before` octets were read earlier. */
  #readStatusLine(head: Buffer, before: number): void {
    const feed = head.indexOf(LINE_FEED);
    if (feed >= before) this.httpStatus = parseSuccessStatus(head.toString("latin1")) ?? 0;
  }

  #skipInterim(chunk: Buffer, from: number): number {
    for (let at = from; at < chunk.length; at += 1) {
      const octet = chunk[at];
      if (octet === LINE_FEED && this.#isLineEmpty) {
        this.#interimBytes += at - from;
        this.#countInterim();
        return at + 1;
      }
      if (octet !== CARRIAGE_RETURN) this.#isLineEmpty = octet === LINE_FEED;
    }
    this.#interimBytes += chunk.length - from;
    if (this.#interimBytes > INTERIM_BYTES_MAX) this.#state = "faulty";
    return chunk.length;
  }

  #countInterim(): void {
    this.#interims += 1;
    this.#state = this.#interims > INTERIM_MAX ? "faulty" : "head";
  }

  /** Begins to skip an interim head whose first octets are longer than a head may be. */
  #beginInterim(head: Buffer): void {
    this.#head = undefined;
    this.#headBytes = 0;
    this.#isLineEmpty = false;
    this.#state = "interim";
    this.#skipInterim(head.subarray(-2), 0);
  }

  /** Ends a head that cannot be parsed: its status line alone decides. */
  #endHead(text: string): void {
    const success = parseSuccessStatus(text);
    this.httpStatus = success ?? 0;
    this.#state = success === undefined ? "faulty" : "done";
  }

  #readHead(text: string): void {
    const head = parseResponseHead(text);
    if (isInterimStatus(text)) {
      this.#countInterim();
      return;
    }
    if (head === undefined) {
      this.#endHead(text);
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
    const room = BODY_KEPT_BYTES - this.#bodyBytes;
    if (room > 0) this.#kept.push(chunk.subarray(at, Math.min(end, at + room)));
    this.#bodyBytes += end - at;
    this.#left -= end - at;
    if (this.#bodyBytes > BODY_BYTES_MAX) {
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

/**
 * Where the empty line that ends a head ends, or -1. A line ends with CR LF or with LF alone
 * (RFC 9112 section 2.2).
 */
function endOfHead(octets: Buffer, from: number): number {
  for (let at = octets.indexOf(LINE_FEED, from); at >= 0; at = octets.indexOf(LINE_FEED, at + 1)) {
    if (octets[at + 1] === LINE_FEED) return at + 2;
    if (octets[at + 1] === CARRIAGE_RETURN && octets[at + 2] === LINE_FEED) return at + 3;
  }
  return -1;
}
