import type { Socket } from "node:net";
import {
  type BindMode,
  type BindState,
  BOUND_STATE,
  checkRequest,
  isBound,
  wrongStateStatus,
} from "./bind-states.ts";
import { decodePdu } from "./codec.ts";
import {
  isAnswerable,
  isResponseId,
  isResponseTo,
  RESPONSE_OF,
  type RequestName,
} from "./commands.ts";
import { FrameError, PduError } from "./errors.ts";
import { FrameReader } from "./frame-reader.ts";
import type { OutgoingPdu, Pdu, PduBody } from "./pdu.ts";
import { Sender } from "./request-sender.ts";
import type { RequestOutcome, RequestWindow } from "./request-window.ts";
import {
  type CloseReason,
  type ResolvedOptions,
  resolveOptions,
  type SessionOptions,
} from "./session-options.ts";
import { STATUS } from "./statuses.ts";
import { NO_TLVS, type Tlvs } from "./tlvs.ts";

/** After these ends written octets may still reach the peer, so the socket closes when they have left. */
const GRACEFUL: ReadonlySet<CloseReason> = new Set([
  "requested",
  "unbound",
  "peer_unbound",
  "framing",
  "bind_refused",
]);
/** How long a graceful end waits for the last octets. */
const LAST_OCTETS_MS = 1000;

/** The state after an accepted bind. */
const BOUND_BY = {
  bind_transmitter: "bound_tx",
  bind_receiver: "bound_rx",
  bind_transceiver: "bound_trx",
} as const;

/** The callbacks that receive the session. */
export interface SessionCallbacks {
  /** Handles a request of the peer; must answer by `session.respond`, now or later. */
  onRequest: (request: Pdu, session: Session) => void;
  /** Called first with every readable PDU; the session ignores the PDU when it returns true. */
  intercept?: (pdu: Pdu, session: Session) => boolean;
}

/** The content of a response. */
export interface Reply {
  status?: number;
  body?: OutgoingPdu["body"];
  tlvs?: Tlvs;
  /** Replaces the sequence number of the request; for the simulator. */
  sequence?: number;
}

/** Counters of a session. */
export interface SessionCounts {
  /** Requests of the peer that the session itself answered with an error. */
  requestsRefused: number;
  /** Answers without a request. */
  unmatchedAnswers: number;
  badPdus: number;
}

/**
 * One SMPP 3.4 session over a connected socket, for either side. The states are in bind-states.ts.
 * Every request ends exactly once, at the latest with the link.
 */
export class Session {
  readonly counts: SessionCounts = { requestsRefused: 0, unmatchedAnswers: 0, badPdus: 0 };
  readonly #socket: Socket;
  readonly #options: ResolvedOptions & SessionCallbacks;
  readonly #sender: Sender;
  readonly #frames: FrameReader;
  readonly #tick: NodeJS.Timeout;
  readonly #startedAtMs = performance.now();
  #state: BindState = "open";
  #isFrozen = false;
  #incoming = 0;
  #frameCount = 0;
  #partialSinceMs = 0;
  #lastReadAtMs = performance.now();
  #isEnquiring = false;
  #closeAtMs = 0;
  #isEnding = false;
  #peerVersion: number | undefined;

  constructor(socket: Socket, options: SessionOptions & SessionCallbacks) {
    this.#socket = socket;
    this.#options = resolveOptions(options);
    this.#sender = new Sender(socket, this.#options, {
      isBound: () => isBound(this.#state),
      onPeerNotReading: () => this.#end("peer_not_reading"),
    });
    this.#frames = new FrameReader(this.#options.frameBytesMax, this.#onFrame);
    const { responseTimeoutMs, enquireLinkTimeoutMs, frameTimeoutMs } = this.#options;
    const shortestMs = Math.min(responseTimeoutMs, enquireLinkTimeoutMs, frameTimeoutMs);
    const tickMs = Math.min(500, Math.max(5, Math.floor(shortestMs / 8)));
    this.#tick = setInterval(() => this.#onTick(performance.now()), tickMs);
    this.#tick.unref();
    socket.setNoDelay(true);
    socket.on("data", this.#onData);
    socket.on("end", () => this.#end(this.#closeAtMs > 0 ? "peer_unbound" : "peer_closed"));
    socket.on("error", (error) => this.#end("socket_error", error));
    socket.on("close", () => this.#end("peer_closed"));
  }

  get state(): BindState {
    return this.#state;
  }

  /** The sc_interface_version of an accepted bind; undefined when the peer sent none. */
  get peerVersion(): number | undefined {
    return this.#peerVersion;
  }

  /** The requests of this side: queued, in flight, and free slots. */
  get window(): RequestWindow {
    return this.#sender.window;
  }

  /** The peer's address, for logs. */
  get remote(): string {
    return `${this.#socket.remoteAddress ?? "?"}:${this.#socket.remotePort ?? 0}`;
  }

  /**
   * Sends a request when the window has a free slot and resolves with its end; never rejects. `beforeWrite` and
   * `onLateAnswer` get its `token`.
   */
  request<C extends RequestName>(
    command: C,
    body?: Partial<PduBody<C>>,
    tlvs?: Tlvs,
    token?: string,
  ): Promise<RequestOutcome> {
    return new Promise((settle) => {
      if (isBound(this.#state)) this.#sender.enqueue(command, body, tlvs, token, settle);
      else settle({ kind: "not_sent", reason: "not_bound" });
    });
  }

  /** Binds as an ESME. */
  bind(mode: BindMode, body: Partial<PduBody<"bind_transceiver">>): Promise<RequestOutcome> {
    return this.#sender.control(`bind_${mode}`, body, this.#options.bindTimeoutMs);
  }

  /** Sends enquire_link. */
  enquireLink(): Promise<RequestOutcome> {
    return this.#sender.control("enquire_link", undefined, this.#options.enquireLinkTimeoutMs);
  }

  /** Sends unbind and no more requests, then closes the link. */
  async unbind(): Promise<void> {
    if (!isBound(this.#state)) {
      this.close();
      return;
    }
    this.#setState("unbinding");
    this.#sender.settleQueue();
    await this.#sender.control("unbind", undefined, this.#options.unbindTimeoutMs);
    this.#end("unbound");
  }

  /** Closes the link at once. */
  close(reason: CloseReason = "requested"): void {
    this.#end(reason);
  }

  /** Answers a request of the peer. */
  respond(request: Pdu, reply: Reply = {}): void {
    this.ignore();
    this.#answer(request, reply);
  }

  /** Leaves a request of the peer unanswered and frees its place among the concurrent requests. */
  ignore(): void {
    if (this.#incoming > 0) this.#incoming--;
  }

  /** Marks a server's session as bound. */
  markBound(mode: BindMode): void {
    this.#setState(BOUND_STATE[mode]);
  }

  /** Sends generic_nack. */
  nack(sequence: number, status: number): void {
    this.counts.requestsRefused++;
    this.#sender.send({ command: "generic_nack", sequence, status });
  }

  /** Writes raw octets; for the simulator. */
  sendRaw(octets: Buffer): void {
    this.#sender.sendRaw(octets);
  }

  /** Stops reading and writing, as if the network had failed; for the simulator. */
  freeze(): void {
    this.#isFrozen = true;
    this.#sender.freeze();
    this.#socket.pause();
  }

  #answer(request: Pdu, reply: Reply): void {
    if (!isAnswerable(request.command)) return;
    this.#sender.send({
      command: RESPONSE_OF[request.command],
      sequence: reply.sequence ?? request.sequence,
      status: reply.status ?? STATUS.ESME_ROK,
      body: reply.body ?? {},
      tlvs: reply.tlvs ?? NO_TLVS,
    });
  }

  readonly #onData = (chunk: Buffer): void => {
    if (this.#isFrozen) return;
    const nowMs = performance.now();
    this.#lastReadAtMs = nowMs;
    const before = this.#frameCount;
    try {
      this.#frames.push(chunk);
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      this.nack(0, STATUS.ESME_RINVCMDLEN);
      this.#end("framing", error);
      return;
    }
    if (!this.#frames.hasPartialFrame) this.#partialSinceMs = 0;
    else if (this.#partialSinceMs === 0 || this.#frameCount !== before)
      this.#partialSinceMs = nowMs;
  };

  readonly #onFrame = (buffer: Buffer, start: number, end: number): void => {
    this.#frameCount++;
    if (this.#state === "closed" || this.#isFrozen) return;
    let pdu: Pdu;
    try {
      pdu = decodePdu(buffer, start, end);
    } catch (error) {
      if (!(error instanceof PduError)) throw error;
      this.counts.badPdus++;
      if (isResponseId(error.commandId)) this.#onBadAnswer(error);
      else this.nack(error.sequence, error.status);
      return;
    }
    if (this.#options.intercept?.(pdu, this)) return;
    if (pdu.command === "generic_nack" || pdu.command.endsWith("_resp")) this.#onAnswer(pdu);
    else this.#onRequest(pdu);
  };

  #onAnswer(pdu: Pdu): void {
    const { window } = this.#sender;
    const waiting = window.peek(pdu.sequence);
    const isNack = pdu.command === "generic_nack";
    if (waiting === undefined || !(isNack || pdu.command === RESPONSE_OF[waiting.command])) {
      const token = waiting === undefined ? window.lateToken(pdu.sequence) : undefined;
      if (token === undefined) this.counts.unmatchedAnswers++;
      else this.#options.onLateAnswer?.(token, pdu);
      return;
    }
    window.answered(pdu.sequence);
    // Later PDUs of the same read may already need the bound state.
    if (pdu.status === 0 && !isNack && this.#state === "open" && waiting.command in BOUND_BY) {
      // Before the state: its callback may submit at once.
      this.#peerVersion = pdu.tlvs.scInterfaceVersion;
      this.#setState(BOUND_BY[waiting.command as keyof typeof BOUND_BY]);
    }
    waiting.settle({ kind: "answered", response: pdu });
    if (window.queued > 0) this.#sender.scheduleTurn();
  }

  #onBadAnswer(error: PduError): void {
    const { sequence, commandId, commandStatus: status } = error;
    const waiting = this.window.peek(sequence);
    // A PDU with the right sequence number and the wrong command is no answer.
    if (waiting === undefined || !isResponseTo(waiting.command, commandId)) return;
    this.window.answered(sequence);
    // A refusal is certain without its body. An acceptance with an unreadable message id is in doubt.
    if (status !== 0) {
      const response: Pdu = { command: "generic_nack", status, sequence, body: {}, tlvs: NO_TLVS };
      waiting.settle({ kind: "answered", response });
    } else waiting.settle({ kind: "unknown", reason: "bad_answer" });
    if (this.window.queued > 0) this.#sender.scheduleTurn();
  }

  #onRequest(pdu: Pdu): void {
    const { role, incomingMax } = this.#options;
    const check = checkRequest(role, this.#state, pdu.command);
    if (check === "wrong_state") {
      this.#refuse(pdu, wrongStateStatus(this.#state, pdu.command));
    } else if (check === "wrong_side") {
      const isOutbind = pdu.command === "outbind";
      this.nack(pdu.sequence, isOutbind ? STATUS.ESME_RINVBNDSTS : STATUS.ESME_RINVCMDID);
    } else if (pdu.command === "enquire_link") this.#answer(pdu, {});
    else if (pdu.command === "unbind") this.#onUnbind(pdu);
    else if (this.#incoming >= incomingMax) {
      this.#refuse(pdu, role === "smsc" ? STATUS.ESME_RTHROTTLED : STATUS.ESME_RX_T_APPN);
    } else {
      this.#incoming++;
      this.#options.onRequest(pdu, this);
    }
  }

  #refuse(pdu: Pdu, status: number): void {
    if (!isAnswerable(pdu.command)) {
      this.nack(pdu.sequence, status);
      return;
    }
    this.counts.requestsRefused++;
    this.#answer(pdu, { status });
  }

  #onUnbind(pdu: Pdu): void {
    this.#answer(pdu, {});
    // Some peers lose the answer when the socket closes right after it, so they get time to close first.
    this.#closeAtMs = performance.now() + this.#options.unbindTimeoutMs;
    this.#setState("unbinding");
    this.#sender.settleQueue();
  }

  #onTick(nowMs: number): void {
    for (const request of this.window.expire(nowMs)) {
      request.settle({ kind: "unknown", reason: "timeout" });
    }
    if (this.#isFrozen) return;
    if (this.window.queued > 0) this.#sender.scheduleTurn();
    const reason = this.#overdue(nowMs);
    if (reason !== undefined) {
      this.#end(reason);
      return;
    }
    const intervalMs = this.#options.enquireLinkIntervalMs;
    const isQuiet = intervalMs > 0 && nowMs - this.#lastReadAtMs >= intervalMs;
    if (isQuiet && !this.#isEnquiring && isBound(this.#state)) void this.#checkLink();
  }

  /** The reason why the link must end now, if any. */
  #overdue(nowMs: number): CloseReason | undefined {
    const { bindTimeoutMs, frameTimeoutMs } = this.#options;
    // A peer that unbinds may still answer requests; each has its own deadline.
    const isLeft = this.#closeAtMs > 0 && this.window.inFlight === 0;
    if (isLeft && nowMs >= this.#closeAtMs) return "peer_unbound";
    if (this.#state === "open" && nowMs - this.#startedAtMs > bindTimeoutMs) return "bind_timeout";
    // End queued requests here: they have no deadline before they are written.
    if (this.#sender.isBlockedFor(this.#options.responseTimeoutMs, nowMs))
      return "peer_not_reading";
    const isStuck = this.#partialSinceMs > 0 && nowMs - this.#partialSinceMs > frameTimeoutMs;
    return isStuck ? "frame_timeout" : undefined;
  }

  async #checkLink(): Promise<void> {
    this.#isEnquiring = true;
    const askedAtMs = performance.now();
    const outcome = await this.enquireLink();
    this.#isEnquiring = false;
    // Any PDU received meanwhile proves that the peer is alive, so the missing answer does not close the link.
    const isSilent = outcome.kind === "unknown" && this.#lastReadAtMs < askedAtMs;
    if (isSilent) this.#end("enquire_link_timeout");
  }

  #setState(state: BindState): void {
    if (this.#state === state || this.#state === "closed") return;
    this.#state = state;
    this.#options.onState?.(state);
  }

  #end(reason: CloseReason, error?: Error): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    this.#sender.flush();
    this.#setState("closed");
    clearInterval(this.#tick);
    this.#sender.stop();
    if (this.#isFrozen || !GRACEFUL.has(reason)) this.#socket.destroy();
    else {
      this.#socket.destroySoon();
      setTimeout(() => this.#socket.destroy(), LAST_OCTETS_MS).unref();
    }
    this.#options.onClose?.(reason, error);
  }
}
