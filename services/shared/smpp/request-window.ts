import type { RequestName } from "./commands.ts";
import type { OutgoingPdu, Pdu } from "./pdu.ts";
import type { Tlvs } from "./tlvs.ts";

/**
 * How a request ended:
 * - `answered`: the peer answered, with any command_status; generic_nack is an answer too.
 * - `unknown`: its octets went to the socket and no answer can be relied on. The peer may have acted.
 * - `not_sent`: no octet of it went to the socket. The peer knows nothing of it.
 */
export type RequestOutcome =
  | { kind: "answered"; response: Pdu }
  | { kind: "unknown"; reason: "timeout" | "closed" | "bad_answer" }
  | { kind: "not_sent"; reason: NotSentReason; cause?: unknown };

/** Why a request was not sent. */
export type NotSentReason =
  | "queue_full"
  | "closed"
  | "not_bound"
  | "unencodable"
  | "journal_failed";

/** A request on its way: `queued` → `held` (the caller journals it) → `written` → settled. */
export interface PendingRequest {
  command: RequestName;
  body: OutgoingPdu["body"] | undefined;
  tlvs: Tlvs | undefined;
  /** The caller's name for it, given to `beforeWrite` and `onLateAnswer`. */
  token: string | undefined;
  /** Requests that keep the link itself (bind, unbind, enquire_link) stand outside the window. */
  isControl: boolean;
  writtenAtMs: number;
  deadlineMs: number;
  settle: (outcome: RequestOutcome) => void;
}

/**
 * Keeps the requests of one session: a queue bounded by `queueMax`, at most `windowMax` of them held or
 * written and unanswered, and the tokens of those that timed out, so that a late answer still finds its
 * owner. Knows nothing of sockets or clocks.
 */
export class RequestWindow {
  readonly windowMax: number;
  readonly queueMax: number;
  readonly #lateMax: number;
  #queue: PendingRequest[] = [];
  #head = 0;
  #held = 0;
  #controls = 0;
  readonly #written = new Map<number, PendingRequest>();
  readonly #late = new Map<number, string>();

  constructor(windowMax: number, queueMax: number) {
    this.windowMax = windowMax;
    this.queueMax = queueMax;
    this.#lateMax = Math.max(1000, 10 * windowMax);
  }

  get queued(): number {
    return this.#queue.length - this.#head;
  }

  /** Requests that take a place in the window. */
  get inFlight(): number {
    return this.#held + this.#written.size - this.#controls;
  }

  /** Requests that can be added now and be written without waiting for an answer. */
  get free(): number {
    return Math.max(0, this.windowMax - this.inFlight - this.queued);
  }

  /** Adds a request to the queue; false when the queue is full. */
  enqueue(request: PendingRequest): boolean {
    if (this.queued >= this.queueMax) return false;
    this.#queue.push(request);
    return true;
  }

  /** Takes from the queue what the window has room for; each must then be written or released. */
  hold(): PendingRequest[] {
    const count = Math.min(this.windowMax - this.inFlight, this.queued);
    if (count <= 0) return [];
    const taken = this.#queue.slice(this.#head, this.#head + count);
    this.#head += count;
    if (this.#head === this.#queue.length || this.#head > 4096) {
      this.#queue = this.#queue.slice(this.#head);
      this.#head = 0;
    }
    this.#held += count;
    return taken;
  }

  /** A held request went to the socket under this sequence number. */
  written(request: PendingRequest, sequence: number): void {
    if (request.isControl) this.#controls++;
    else this.#held--;
    this.#late.delete(sequence);
    this.#written.set(sequence, request);
  }

  /** A held request will not be written. */
  release(): void {
    this.#held--;
  }

  /** Takes out the request that an answer belongs to. */
  answered(sequence: number): PendingRequest | undefined {
    const request = this.#written.get(sequence);
    if (request === undefined) return undefined;
    this.#written.delete(sequence);
    if (request.isControl) this.#controls--;
    return request;
  }

  /** Reads the request that waits under this sequence number and leaves it waiting. */
  peek(sequence: number): PendingRequest | undefined {
    return this.#written.get(sequence);
  }

  /** Returns, once, the token of a timed-out request whose answer comes after all. */
  lateToken(sequence: number): string | undefined {
    const token = this.#late.get(sequence);
    this.#late.delete(sequence);
    return token;
  }

  /** Takes out every request whose deadline has passed. */
  expire(nowMs: number): PendingRequest[] {
    const expired: PendingRequest[] = [];
    for (const [sequence, request] of this.#written) {
      if (request.deadlineMs > nowMs) continue;
      this.#written.delete(sequence);
      if (request.isControl) this.#controls--;
      else if (request.token !== undefined) this.#rememberLate(sequence, request.token);
      expired.push(request);
    }
    return expired;
  }

  /** Takes out everything that is still in the queue. */
  clearQueue(): PendingRequest[] {
    const left = this.#queue.slice(this.#head);
    this.#queue = [];
    this.#head = 0;
    return left;
  }

  /** Takes out everything that was written. */
  clearWritten(): PendingRequest[] {
    const left = [...this.#written.values()];
    this.#written.clear();
    this.#controls = 0;
    return left;
  }

  #rememberLate(sequence: number, token: string): void {
    this.#late.set(sequence, token);
    if (this.#late.size <= this.#lateMax) return;
    const oldest = this.#late.keys().next().value;
    if (oldest !== undefined) this.#late.delete(oldest);
  }
}
