import type { CommandName } from "./commands.ts";
import type { Tlvs } from "./tlvs.ts";

/** One destination of submit_multi: an address, or the name of a distribution list. */
export type Destination =
  | { kind: "address"; ton: number; npi: number; address: string }
  | { kind: "list"; name: string };

/** A destination that submit_multi_resp refuses, with its status. */
export interface FailedDestination {
  ton: number;
  npi: number;
  address: string;
  status: number;
}

type Kind = "int8" | "cstring" | "octets" | "destinations" | "failures";

/**
 * One mandatory field: its name, how it is written, and for a C-octet string the most octets it may
 * have with its closing zero. `octets` is one length octet and that many octets (short_message).
 */
export type Field = readonly [name: string, kind: Kind, bytesMax?: number];

const BIND = [
  ["systemId", "cstring", 16],
  ["password", "cstring", 9],
  ["systemType", "cstring", 13],
  ["interfaceVersion", "int8"],
  ["addrTon", "int8"],
  ["addrNpi", "int8"],
  ["addressRange", "cstring", 41],
] as const satisfies readonly Field[];

const SOURCE = [
  ["sourceAddrTon", "int8"],
  ["sourceAddrNpi", "int8"],
  ["sourceAddr", "cstring", 21],
] as const satisfies readonly Field[];

const DESTINATION = [
  ["destAddrTon", "int8"],
  ["destAddrNpi", "int8"],
  ["destinationAddr", "cstring", 21],
] as const satisfies readonly Field[];

const MESSAGE = [
  ["esmClass", "int8"],
  ["protocolId", "int8"],
  ["priorityFlag", "int8"],
  ["scheduleDeliveryTime", "cstring", 17],
  ["validityPeriod", "cstring", 17],
  ["registeredDelivery", "int8"],
  ["replaceIfPresentFlag", "int8"],
  ["dataCoding", "int8"],
  ["smDefaultMsgId", "int8"],
  ["shortMessage", "octets"],
] as const satisfies readonly Field[];

const SERVICE = [["serviceType", "cstring", 6]] as const satisfies readonly Field[];
const MESSAGE_ID = [["messageId", "cstring", 65]] as const satisfies readonly Field[];
const SYSTEM_ID = [["systemId", "cstring", 16]] as const satisfies readonly Field[];

/** The mandatory fields of every PDU in wire order, SMPP 3.4 section 4. */
export const PDU_FIELDS = {
  generic_nack: [],
  bind_receiver: BIND,
  bind_transmitter: BIND,
  bind_transceiver: BIND,
  bind_receiver_resp: SYSTEM_ID,
  bind_transmitter_resp: SYSTEM_ID,
  bind_transceiver_resp: SYSTEM_ID,
  outbind: [
    ["systemId", "cstring", 16],
    ["password", "cstring", 9],
  ],
  unbind: [],
  unbind_resp: [],
  submit_sm: [...SERVICE, ...SOURCE, ...DESTINATION, ...MESSAGE],
  submit_sm_resp: MESSAGE_ID,
  submit_multi: [...SERVICE, ...SOURCE, ["destinations", "destinations"], ...MESSAGE],
  submit_multi_resp: [...MESSAGE_ID, ["unsuccess", "failures"]],
  deliver_sm: [...SERVICE, ...SOURCE, ...DESTINATION, ...MESSAGE],
  deliver_sm_resp: MESSAGE_ID,
  data_sm: [
    ...SERVICE,
    ["sourceAddrTon", "int8"],
    ["sourceAddrNpi", "int8"],
    ["sourceAddr", "cstring", 65],
    ["destAddrTon", "int8"],
    ["destAddrNpi", "int8"],
    ["destinationAddr", "cstring", 65],
    ["esmClass", "int8"],
    ["registeredDelivery", "int8"],
    ["dataCoding", "int8"],
  ],
  data_sm_resp: MESSAGE_ID,
  query_sm: [...MESSAGE_ID, ...SOURCE],
  query_sm_resp: [
    ...MESSAGE_ID,
    ["finalDate", "cstring", 17],
    ["messageState", "int8"],
    ["errorCode", "int8"],
  ],
  cancel_sm: [...SERVICE, ...MESSAGE_ID, ...SOURCE, ...DESTINATION],
  cancel_sm_resp: [],
  replace_sm: [
    ...MESSAGE_ID,
    ...SOURCE,
    ["scheduleDeliveryTime", "cstring", 17],
    ["validityPeriod", "cstring", 17],
    ["registeredDelivery", "int8"],
    ["smDefaultMsgId", "int8"],
    ["shortMessage", "octets"],
  ],
  replace_sm_resp: [],
  enquire_link: [],
  enquire_link_resp: [],
  alert_notification: [
    ["sourceAddrTon", "int8"],
    ["sourceAddrNpi", "int8"],
    ["sourceAddr", "cstring", 65],
    ["esmeAddrTon", "int8"],
    ["esmeAddrNpi", "int8"],
    ["esmeAddr", "cstring", 65],
  ],
} as const satisfies Record<CommandName, readonly Field[]>;

type ValueOf<K> = K extends "int8"
  ? number
  : K extends "cstring"
    ? string
    : K extends "octets"
      ? Buffer
      : K extends "destinations"
        ? Destination[]
        : FailedDestination[];

/** The mandatory fields of one PDU, by name. */
export type PduBody<C extends CommandName> = {
  -readonly [F in (typeof PDU_FIELDS)[C][number] as F[0]]: ValueOf<F[1]>;
};

/** A received PDU of one command. */
export interface PduOf<C extends CommandName> {
  command: C;
  status: number;
  sequence: number;
  body: PduBody<C>;
  tlvs: Tlvs;
}

/**
 * Any received PDU; `command` discriminates the union. Octet fields are views of the received bytes: copy them to keep
 * them.
 */
export type Pdu = { [C in CommandName]: PduOf<C> }[CommandName];

/** A PDU to write: missing fields are zero or empty. */
export interface OutgoingPdu<C extends CommandName = CommandName> {
  command: C;
  status?: number;
  sequence: number;
  body?: Partial<PduBody<C>>;
  tlvs?: Tlvs;
}
