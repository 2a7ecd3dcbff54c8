import type { Socket } from "node:net";
import type { RequestName } from "./commands.ts";
import type { OutgoingPdu } from "./pdu.ts";
import { type PendingRequest, type RequestOutcome, RequestWindow } from "./request-window.ts";
import type { ResolvedOptions } from "./session-options.ts";
import { NO_TLVS, type Tlvs } from "./tlvs.ts";
import { Output } from "./write-buffer.ts";

const SEQUENCE_MAX = 0x7fffffff;

/** The part of the session that the sender needs. */
export interface SenderPort {
  /** Whether queued requests may go out now. */
  isBound(): boolean;
  /** Called when the peer leaves more than `outputBytesMax` octets unread. */
  onPeerNotReading(): void;
}

/**
 * The write side of a session. It collects the PDUs of one event-loop iteration, calls `beforeWrite` before requests
 * are written, and ends every request exactly once.
 */
export class Sender {
  readonly window: RequestWindow;
  readonly #socket: Socket;
  readonly #options: ResolvedOptions;
  readonly #port: SenderPort;
  readonly #output = new Output();
  #sequence: number;
  #isTurnDue = false;
  /** When the socket stopped accepting octets; 0 while it accepts them. */
  #blockedAtMs = 0;
  #isStopped = false;
  #isFrozen = false;

  constructor(socket: Socket, options: ResolvedOptions, port: SenderPort) {
    this.#socket = socket;
    this.#options = options;
    this.#port = port;
    this.#sequence = options.firstSequence;
    this.window = new RequestWindow(options.windowMax, options.queueMax);
    socket.on("drain", () => this.#onDrain());
  }

  /** Queues a request for the window. */
  enqueue(
    command: RequestName,
    body: OutgoingPdu["body"] | undefined,
    tlvs: Tlvs | undefined,
    token: string | undefined,
    settle: (outcome: RequestOutcome) => void,
  ): void {
    const request = pending(command, body, tlvs, token, false, settle);
    if (this.window.enqueue(request)) this.scheduleTurn();
    else settle({ kind: "not_sent", reason: "queue_full" });
  }

  /** Writes a request of the link itself (bind, unbind, enquire_link); it takes no slot of the window. */
  control(
    command: RequestName,
    body: OutgoingPdu["body"] | undefined,
    timeoutMs: number,
  ): Promise<RequestOutcome> {
    return new Promise((settle) => {
      if (this.#isStopped) {
        settle({ kind: "not_sent", reason: "closed" });
        return;
      }
      const request = pending(command, body, undefined, undefined, true, settle);
      this.#write(request, performance.now(), timeoutMs);
      this.scheduleTurn();
    });
  }

  /** Writes a response or a generic_nack. Throws EncodeError. */
  send(pdu: OutgoingPdu): void {
    if (this.#isStopped) return;
    this.#output.add(pdu);
    this.scheduleTurn();
  }

  /** Writes octets as they are. */
  sendRaw(octets: Buffer): void {
    if (this.#isStopped) return;
    this.#output.addRaw(octets);
    this.scheduleTurn();
  }

  /** Schedules a write at the end of this event-loop iteration. */
  scheduleTurn(): void {
    if (this.#isTurnDue) return;
    this.#isTurnDue = true;
    process.nextTick(this.#turn);
  }

  /** Ends the queued requests. */
  settleQueue(): void {
    for (const request of this.window.clearQueue()) {
      request.settle({ kind: "not_sent", reason: "closed" });
    }
  }

  /** Ends all requests: written ones as `unknown`, the others as `not_sent`. */
  stop(): void {
    this.#isStopped = true;
    this.settleQueue();
    for (const request of this.window.clearWritten()) {
      request.settle({ kind: "unknown", reason: "closed" });
    }
  }

  /** Drops all later writes, as a broken connection would. */
  freeze(): void {
    this.#isFrozen = true;
  }

  /** Whether the peer has read nothing for this long. */
  isBlockedFor(ms: number, nowMs: number): boolean {
    return this.#blockedAtMs > 0 && nowMs - this.#blockedAtMs >= ms;
  }

  /** Writes the collected octets to the socket. */
  flush(): void {
    if (this.#isStopped) return;
    const blocks = this.#output.take();
    if (this.#isFrozen) return;
    for (const block of blocks) {
      if (!this.#socket.write(block) && this.#blockedAtMs === 0) {
        this.#blockedAtMs = performance.now();
      }
    }
    if (this.#blockedAtMs === 0) return;
    if (this.#socket.writableLength > this.#options.outputBytesMax) this.#port.onPeerNotReading();
    // A server whose answers are not read takes no more requests.
    else if (this.#options.role === "smsc") this.#socket.pause();
  }

  readonly #turn = (): void => {
    this.#isTurnDue = false;
    if (this.#isStopped) return;
    if (this.#port.isBound() && this.#blockedAtMs === 0) this.#pump();
    this.flush();
  };

  #onDrain(): void {
    this.#blockedAtMs = 0;
    if (this.#isStopped || this.#isFrozen) return;
    if (this.#options.role === "smsc") this.#socket.resume();
    this.scheduleTurn();
  }

  #pump(): void {
    const held = this.window.hold();
    if (held.length === 0) return;
    try {
      this.#journal(held);
    } catch (cause) {
      this.#releaseAll(held, cause);
      return;
    }
    this.#writeAll(held);
  }

  #journal(held: readonly PendingRequest[]): void {
    const { beforeWrite } = this.#options;
    if (beforeWrite === undefined) return;
    const tokens = held.flatMap(({ token }) => token ?? []);
    if (tokens.length > 0) beforeWrite(tokens);
  }

  #releaseAll(held: readonly PendingRequest[], cause: unknown): void {
    for (const request of held) {
      this.window.release();
      request.settle({ kind: "not_sent", reason: "journal_failed", cause });
    }
    this.scheduleTurn();
  }

  #writeAll(held: PendingRequest[]): void {
    const nowMs = performance.now();
    for (const request of held) this.#write(request, nowMs, this.#options.responseTimeoutMs);
  }

  #write(request: PendingRequest, nowMs: number, timeoutMs: number): void {
    const sequence = this.#sequence;
    const { command, body, tlvs } = request;
    try {
      this.#output.add({ command, sequence, body: body ?? {}, tlvs: tlvs ?? NO_TLVS });
    } catch (cause) {
      if (!request.isControl) this.window.release();
      request.settle({ kind: "not_sent", reason: "unencodable", cause });
      return;
    }
    this.#sequence = sequence === SEQUENCE_MAX ? 1 : sequence + 1;
    request.writtenAtMs = nowMs;
    request.deadlineMs = nowMs + timeoutMs;
    this.window.written(request, sequence);
  }
}

function pending(
  command: RequestName,
  body: OutgoingPdu["body"] | undefined,
  tlvs: Tlvs | undefined,
  token: string | undefined,
  isControl: boolean,
  settle: (outcome: RequestOutcome) => void,
): PendingRequest {
  return { command, body, tlvs, token, isControl, writtenAtMs: 0, deadlineMs: 0, settle };
}
