import type { CommandName } from "./commands.ts";
import { STATUS } from "./statuses.ts";

/**
 * States of a session, SMPP 3.4 section 2.2:
 * - `open`: connected, not bound. Leaves by an accepted bind, a refused one (closing) or the deadline.
 * - `bound_tx`, `bound_rx`, `bound_trx`: bound as transmitter, receiver or transceiver.
 *   Leaves by unbind from either side or when the link ends.
 * - `unbinding`: unbind was sent or received; nothing new is submitted. Leaves when the link ends.
 * - `closed`: the socket is gone and every pending request has ended. Never left.
 */
export type BindState = "open" | "bound_tx" | "bound_rx" | "bound_trx" | "unbinding" | "closed";

/** `esme` binds and submits, `smsc` accepts binds and delivers. */
export type SessionRole = "esme" | "smsc";

/** The bind modes of an ESME. */
export type BindMode = "transmitter" | "receiver" | "transceiver";

/** The bound state of each mode. */
export const BOUND_STATE = {
  transmitter: "bound_tx",
  receiver: "bound_rx",
  transceiver: "bound_trx",
} as const satisfies Record<BindMode, BindState>;

const OPEN: readonly BindState[] = ["open"];
const SUBMITTING: readonly BindState[] = ["bound_tx", "bound_trx"];
const RECEIVING: readonly BindState[] = ["bound_rx", "bound_trx"];
const BOUND: readonly BindState[] = ["bound_tx", "bound_rx", "bound_trx"];
const ALIVE: readonly BindState[] = [...BOUND, "open", "unbinding"];

/** The requests that each side may receive in each state, SMPP 3.4 section 2.3. */
const RECEIVABLE: Record<SessionRole, Partial<Record<CommandName, readonly BindState[]>>> = {
  smsc: {
    bind_transmitter: OPEN,
    bind_receiver: OPEN,
    bind_transceiver: OPEN,
    submit_sm: SUBMITTING,
    submit_multi: SUBMITTING,
    data_sm: SUBMITTING,
    query_sm: SUBMITTING,
    cancel_sm: SUBMITTING,
    replace_sm: SUBMITTING,
    unbind: [...BOUND, "unbinding"],
    enquire_link: ALIVE,
  },
  esme: {
    deliver_sm: RECEIVING,
    data_sm: RECEIVING,
    alert_notification: RECEIVING,
    unbind: [...BOUND, "unbinding"],
    enquire_link: ALIVE,
  },
};

/**
 * Checks a request received in a state: `ok`, `wrong_state` (this side accepts the command in another state) or
 * `wrong_side` (this side never accepts it, such as outbind to a client that connected by itself).
 */
export function checkRequest(
  role: SessionRole,
  state: BindState,
  command: CommandName,
): "ok" | "wrong_state" | "wrong_side" {
  const states = RECEIVABLE[role][command];
  if (states === undefined) return "wrong_side";
  return states.includes(state) ? "ok" : "wrong_state";
}

/**
 * The status for a request in the wrong state; a second bind has its own (SMPP 3.4 section 5.1.3). A delivery that
 * crosses our unbind gets a temporary error, so that the SMSC delivers it again over the next link: "invalid bind
 * status" makes some SMSCs drop it.
 */
export function wrongStateStatus(state: BindState, command: CommandName): number {
  if (isBound(state) && command.startsWith("bind_")) return STATUS.ESME_RALYBND;
  const isDelivery = command === "deliver_sm" || command === "data_sm";
  return state === "unbinding" && isDelivery ? STATUS.ESME_RX_T_APPN : STATUS.ESME_RINVBNDSTS;
}

/** Whether a session in this state is bound. */
export function isBound(state: BindState): boolean {
  return BOUND.includes(state);
}
