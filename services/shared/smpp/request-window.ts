import type { RequestName } from "./commands.ts";
import type { OutgoingPdu, Pdu } from "./pdu.ts";
import type { Tlvs } from "./tlvs.ts";

/**
 * The end of a request:
 * - `answered`: the peer answered, with any command_status; generic_nack is an answer too.
 * - `unknown`: its octets went to the socket and no usable answer came. The peer may have acted on it.
 * - `not_sent`: no octet of it went to the socket.
 */
export type RequestOutcome =
  | { kind: "answered"; response: Pdu }
  | { kind: "unknown"; reason: "timeout" | "closed" | "bad_answer" }
  | { kind: "not_sent"; reason: NotSentReason; cause?: unknown };

/** The reason why a request was not sent. */
export type NotSentReason =
  | "queue_full"
  | "closed"
  | "not_bound"
  | "unencodable"
  | "journal_failed";

/** A pending request: `queued` → `held` (the caller journals it) → `written` → settled. */
export interface PendingRequest {
  command: RequestName;
  body: OutgoingPdu["body"] | undefined;
  tlvs: Tlvs | undefined;
  /** Chosen by the caller; `beforeWrite` and `onLateAnswer` get it. */
  token: string | undefined;
  /** Requests that keep the link itself (bind, unbind, enquire_link) take no slot. */
  isControl: boolean;
  writtenAtMs: number;
  deadlineMs: number;
  settle: (outcome: RequestOutcome) => void;
}

/**
 * The requests of one session: a queue of at most `queueMax`, at most `windowMax` requests held or unanswered, and the
 * tokens of timed-out requests for late answers. It has no socket and no clock.
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

  /** Used slots of the window. */
  get inFlight(): number {
    return this.#held + this.#written.size - this.#controls;
  }

  /** Free slots of the window. */
  get free(): number {
    return Math.max(0, this.windowMax - this.inFlight - this.queued);
  }

  /** Adds a request to the queue; false when the queue is full. */
  enqueue(request: PendingRequest): boolean {
    if (this.queued >= this.queueMax) return false;
    this.#queue.push(request);
    return true;
  }

  /** Takes requests from the queue for the free slots; the caller must write or release each. */
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

  /** Marks a held request as written with this sequence number. */
  written(request: PendingRequest, sequence: number): void {
    if (request.isControl) this.#controls++;
    else this.#held--;
    this.#late.delete(sequence);
    this.#written.set(sequence, request);
  }

  /** Removes a held request that will not be written. */
  release(): void {
    this.#held--;
  }

  /** Removes and returns the request of an answer. */
  answered(sequence: number): PendingRequest | undefined {
    const request = this.#written.get(sequence);
    if (request === undefined) return undefined;
    this.#written.delete(sequence);
    if (request.isControl) this.#controls--;
    return request;
  }

  /** Returns the request with this sequence number without removing it. */
  peek(sequence: number): PendingRequest | undefined {
    return this.#written.get(sequence);
  }

  /** Returns the token of a timed-out request, once, for its late answer. */
  lateToken(sequence: number): string | undefined {
    const token = this.#late.get(sequence);
    this.#late.delete(sequence);
    return token;
  }

  /** Removes and returns the requests whose deadline has passed. */
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

  /** Removes and returns the queued requests. */
  clearQueue(): PendingRequest[] {
    const left = this.#queue.slice(this.#head);
    this.#queue = [];
    this.#head = 0;
    return left;
  }

  /** Removes and returns the written requests. */
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
