import type { BindState, SessionRole } from "./bind-states.ts";
import type { Pdu } from "./pdu.ts";
import type { Session } from "./session.ts";

/** Why a session ended. */
export type CloseReason =
  | "requested"
  | "unbound"
  | "peer_unbound"
  | "peer_closed"
  | "socket_error"
  | "framing"
  | "frame_timeout"
  | "enquire_link_timeout"
  | "bind_timeout"
  | "bind_refused"
  | "peer_not_reading";

/** What a session is told and whom it tells. Durations are in milliseconds. */
export interface SessionOptions {
  role: SessionRole;
  /** Requests written and unanswered at a time; 10 by default. */
  windowMax?: number;
  /** Requests that may wait for the window; more are `not_sent`. 1,000 by default. */
  queueMax?: number;
  /** Without an answer by then a request is `unknown`; 10 s by default. */
  responseTimeoutMs?: number;
  /** Silence of the peer after which the link is checked; 30 s by default, 0 never. */
  enquireLinkIntervalMs?: number;
  /** Time the peer has to answer enquire_link before the link counts as dead; 10 s by default. */
  enquireLinkTimeoutMs?: number;
  /** Time to become bound; 10 s by default. */
  bindTimeoutMs?: number;
  /** Time the peer has to answer unbind, or to close after its own; 1 s by default. */
  unbindTimeoutMs?: number;
  /** Time from the first octet of a frame to its last; 30 s by default. */
  frameTimeoutMs?: number;
  /** The longest frame taken; 80 KiB by default: a full message_payload and all the rest. */
  frameBytesMax?: number;
  /** Octets the peer may leave unread before the link is cut; 8 MiB by default. */
  outputBytesMax?: number;
  /** Requests of the peer handled at a time; more are answered with a temporary error. */
  incomingMax?: number;
  /** The first sequence number this side uses; a server counts from far away by default. */
  firstSequence?: number;
  /**
   * Called with the tokens of requests about to be written, before any octet of them goes to the
   * socket; what it has to keep is kept when it returns. When it throws they are `not_sent`.
   */
  beforeWrite?: (tokens: readonly string[]) => void;
  /** Takes a request of the peer; must answer by `session.respond`, now or later. */
  onRequest: (request: Pdu, session: Session) => void;
  /** An answer that came after its request had become `unknown`. */
  onLateAnswer?: (token: string, response: Pdu) => void;
  onState?: (state: BindState) => void;
  onClose?: (reason: CloseReason, error?: Error) => void;
  /** Sees every readable PDU first; returning true takes it out of the session's hands. */
  intercept?: (pdu: Pdu, session: Session) => boolean;
}

type Limits = Required<
  Omit<
    SessionOptions,
    "beforeWrite" | "onRequest" | "onLateAnswer" | "onState" | "onClose" | "intercept"
  >
>;

/** The options of a session with every limit filled in. */
export type ResolvedOptions = SessionOptions & Limits;

/** Fills in what the caller left out. */
export function resolveOptions(options: SessionOptions): ResolvedOptions {
  return {
    windowMax: 10,
    queueMax: 1000,
    responseTimeoutMs: 10_000,
    enquireLinkIntervalMs: 30_000,
    enquireLinkTimeoutMs: 10_000,
    bindTimeoutMs: 10_000,
    unbindTimeoutMs: 1000,
    frameTimeoutMs: 30_000,
    frameBytesMax: 80 * 1024,
    outputBytesMax: 8 * 1024 * 1024,
    incomingMax: 1000,
    // Some clients take a request that carries the number of their own unanswered one for its answer.
    firstSequence: options.role === "smsc" ? 0x40000000 : 1,
    ...options,
  };
}
