import type { ConnectionOptions } from "node:tls";
import type { BindMode } from "./bind-states.ts";
import type { PduOf } from "./pdu.ts";
import type { SessionOptions } from "./session-options.ts";
import type { SubmitOutcome } from "./submit-outcome.ts";

/** A message or receipt from the SMSC. Octet fields are views: copy them to keep them. */
export type IncomingMessage = PduOf<"deliver_sm"> | PduOf<"data_sm">;

/**
 * States of a client:
 * - `stopped`: before `start` and after `close`.
 * - `connecting`: TCP and TLS handshakes are in progress. Leaves for `binding` or `waiting`.
 * - `binding`: connected, the bind is not answered yet. Leaves for `bound` or `waiting`.
 * - `bound`: submits go out. Leaves for `unbinding` or `waiting`.
 * - `unbinding`: either side has sent unbind, or is about to. Leaves for `stopped` or `waiting`.
 * - `waiting`: the link is down; the next attempt follows after a delay. Leaves for `connecting`.
 */
export type LinkState = "stopped" | "connecting" | "binding" | "bound" | "unbinding" | "waiting";

/** The reason and the length of the wait before the next attempt. */
export interface LinkInfo {
  reason?: string;
  /** The status of a refused bind, or of a submit with an unusable bind status. */
  status?: number;
  error?: Error;
  /** Attempts since the backoff was reset by an answered submit, or by a link that was up for `stableMs`. */
  attempt: number;
  retryInMs?: number;
}

type Tunables = Pick<
  SessionOptions,
  | "windowMax"
  | "queueMax"
  | "responseTimeoutMs"
  | "enquireLinkIntervalMs"
  | "enquireLinkTimeoutMs"
  | "bindTimeoutMs"
  | "unbindTimeoutMs"
  | "frameTimeoutMs"
  | "incomingMax"
  | "beforeWrite"
>;

/** One bind of one connector; the limits are those of `SessionOptions`. */
export interface SmppClientOptions extends Tunables {
  host: string;
  port: number;
  /** True or TLS options to use TLS; the client verifies the server's certificate unless these disable it. */
  tls?: boolean | ConnectionOptions;
  systemId: string;
  password: string;
  systemType?: string;
  /** `transceiver` by default. */
  mode?: BindMode;
  addrTon?: number;
  addrNpi?: number;
  addressRange?: string;
  /** 0x34 by default. */
  interfaceVersion?: number;
  connectTimeoutMs?: number;
  /** The first delay before another attempt; it doubles up to `reconnectMaxMs`, with jitter. */
  reconnectMinMs?: number;
  reconnectMaxMs?: number;
  /** A link that was up this long resets the reconnect backoff; one minute by default. */
  stableMs?: number;
  /**
   * Handles a delivery. deliver_sm_resp is sent when the promise resolves, so resolve when the message is durable.
   * When it rejects, the SMSC gets ESME_RX_T_APPN and delivers it again.
   */
  onDeliver: (message: IncomingMessage) => Promise<void> | void;
  /** The answer to a submit that had already ended as `unknown` (`timeout`). */
  onLateAnswer?: (token: string, outcome: SubmitOutcome) => void;
  onState?: (state: LinkState, info: LinkInfo) => void;
  /** A source of numbers from 0 to 1 for the jitter. */
  random?: () => number;
}
