import type { BindState, SessionRole } from "./bind-states.ts";
import type { Pdu } from "./pdu.ts";

/** The reason why a session ended. */
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

/** The limits of a session, and the callbacks that need no session. Durations are in milliseconds. */
export interface SessionOptions {
  role: SessionRole;
  /** Requests written and unanswered at a time; 10 by default. */
  windowMax?: number;
  /** Requests that may wait for the window; further ones end as `not_sent`. 1,000 by default. */
  queueMax?: number;
  /** A request without an answer ends as `unknown` after this time; 10 s by default. */
  responseTimeoutMs?: number;
  /** enquire_link is sent after this time without a PDU of the peer; 30 s by default, 0 never. */
  enquireLinkIntervalMs?: number;
  /** An enquire_link without an answer closes the link after this time; 10 s by default. */
  enquireLinkTimeoutMs?: number;
  /** A session that is not bound closes after this time; 10 s by default. */
  bindTimeoutMs?: number;
  /** How long the peer may take to answer unbind, or to close after its own unbind; 1 s by default. */
  unbindTimeoutMs?: number;
  /** The longest time from the first octet of a frame to its last; 30 s by default. */
  frameTimeoutMs?: number;
  /** The longest frame; 80 KiB by default, enough for a full message_payload and all other fields. */
  frameBytesMax?: number;
  /** Octets that the peer may leave unread before the link is closed; 8 MiB by default. */
  outputBytesMax?: number;
  /** Requests of the peer in progress; further ones get a temporary error. */
  incomingMax?: number;
  /** The first sequence number of this side; 0x40000000 for a server by default. */
  firstSequence?: number;
  /**
   * Called with the tokens of requests before any octet of them is written to the socket. It makes them durable before
   * it returns. When it throws, the requests end as `not_sent`.
   */
  beforeWrite?: (tokens: readonly string[]) => void;
  /** Called with an answer that came after its request had ended as `unknown`. */
  onLateAnswer?: (token: string, response: Pdu) => void;
  onState?: (state: BindState) => void;
  onClose?: (reason: CloseReason, error?: Error) => void;
}

type Limits = Required<
  Omit<SessionOptions, "beforeWrite" | "onLateAnswer" | "onState" | "onClose">
>;

/** The options of a session with the defaults filled in. */
export type ResolvedOptions = SessionOptions & Limits;

/** Fills in the defaults of the limits. */
export function resolveOptions<Options extends SessionOptions>(options: Options): Options & Limits {
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
    // Some clients mistake a request with the sequence number of their own unanswered request for its answer.
    firstSequence: options.role === "smsc" ? 0x40000000 : 1,
    ...options,
  };
}
