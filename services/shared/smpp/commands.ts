/** Command ids of SMPP 3.4, section 5.1.2.1. A response is its request with the highest bit set. */
export const COMMAND_IDS = {
  bind_receiver: 0x00000001,
  bind_transmitter: 0x00000002,
  query_sm: 0x00000003,
  submit_sm: 0x00000004,
  deliver_sm: 0x00000005,
  unbind: 0x00000006,
  replace_sm: 0x00000007,
  cancel_sm: 0x00000008,
  bind_transceiver: 0x00000009,
  outbind: 0x0000000b,
  enquire_link: 0x00000015,
  submit_multi: 0x00000021,
  alert_notification: 0x00000102,
  data_sm: 0x00000103,
  generic_nack: 0x80000000,
  bind_receiver_resp: 0x80000001,
  bind_transmitter_resp: 0x80000002,
  query_sm_resp: 0x80000003,
  submit_sm_resp: 0x80000004,
  deliver_sm_resp: 0x80000005,
  unbind_resp: 0x80000006,
  replace_sm_resp: 0x80000007,
  cancel_sm_resp: 0x80000008,
  bind_transceiver_resp: 0x80000009,
  enquire_link_resp: 0x80000015,
  submit_multi_resp: 0x80000021,
  data_sm_resp: 0x80000103,
} as const;

/** The name of a PDU, spelt as in SMPP 3.4. */
export type CommandName = keyof typeof COMMAND_IDS;

/** The request PDUs that the peer answers, each with its response. */
export const RESPONSE_OF = {
  bind_receiver: "bind_receiver_resp",
  bind_transmitter: "bind_transmitter_resp",
  bind_transceiver: "bind_transceiver_resp",
  query_sm: "query_sm_resp",
  submit_sm: "submit_sm_resp",
  deliver_sm: "deliver_sm_resp",
  unbind: "unbind_resp",
  replace_sm: "replace_sm_resp",
  cancel_sm: "cancel_sm_resp",
  enquire_link: "enquire_link_resp",
  submit_multi: "submit_multi_resp",
  data_sm: "data_sm_resp",
} as const satisfies Partial<Record<CommandName, CommandName>>;

/** A request that has a response; `outbind` and `alert_notification` have none. */
export type RequestName = keyof typeof RESPONSE_OF;

const NAMES = new Map<number, CommandName>(
  (Object.entries(COMMAND_IDS) as [CommandName, number][]).map(([name, id]) => [id, name]),
);

/** Returns the name of a command id, or undefined when SMPP 3.4 does not define it. */
export function commandName(commandId: number): CommandName | undefined {
  return NAMES.get(commandId);
}

/** Whether a command id is a response, generic_nack included. */
export function isResponseId(commandId: number): boolean {
  return commandId >= 0x80000000;
}

/** True for the command id of the response to a request of this name, and for generic_nack. */
export function isResponseTo(request: RequestName, commandId: number): boolean {
  return commandId === COMMAND_IDS.generic_nack || commandId === COMMAND_IDS[RESPONSE_OF[request]];
}

/** Whether a request of this name must be answered. */
export function isAnswerable(command: CommandName): command is RequestName {
  return Object.hasOwn(RESPONSE_OF, command);
}
