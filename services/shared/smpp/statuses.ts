/** Values of command_status, SMPP 3.4 section 5.1.3. */
export const STATUS = {
  ESME_ROK: 0x00,
  ESME_RINVMSGLEN: 0x01,
  ESME_RINVCMDLEN: 0x02,
  ESME_RINVCMDID: 0x03,
  ESME_RINVBNDSTS: 0x04,
  ESME_RALYBND: 0x05,
  ESME_RINVPRTFLG: 0x06,
  ESME_RINVREGDLVFLG: 0x07,
  ESME_RSYSERR: 0x08,
  ESME_RINVSRCADR: 0x0a,
  ESME_RINVDSTADR: 0x0b,
  ESME_RINVMSGID: 0x0c,
  ESME_RBINDFAIL: 0x0d,
  ESME_RINVPASWD: 0x0e,
  ESME_RINVSYSID: 0x0f,
  ESME_RCANCELFAIL: 0x11,
  ESME_RREPLACEFAIL: 0x13,
  ESME_RMSGQFUL: 0x14,
  ESME_RINVSERTYP: 0x15,
  ESME_RINVNUMDESTS: 0x33,
  ESME_RINVDLNAME: 0x34,
  ESME_RINVDESTFLAG: 0x40,
  ESME_RINVSUBREP: 0x42,
  ESME_RINVESMCLASS: 0x43,
  ESME_RCNTSUBDL: 0x44,
  ESME_RSUBMITFAIL: 0x45,
  ESME_RINVSRCTON: 0x48,
  ESME_RINVSRCNPI: 0x49,
  ESME_RINVDSTTON: 0x50,
  ESME_RINVDSTNPI: 0x51,
  ESME_RINVSYSTYP: 0x53,
  ESME_RINVREPFLAG: 0x54,
  ESME_RINVNUMMSGS: 0x55,
  ESME_RTHROTTLED: 0x58,
  ESME_RINVSCHED: 0x61,
  ESME_RINVEXPIRY: 0x62,
  ESME_RINVDFTMSGID: 0x63,
  ESME_RX_T_APPN: 0x64,
  ESME_RX_P_APPN: 0x65,
  ESME_RX_R_APPN: 0x66,
  ESME_RQUERYFAIL: 0x67,
  ESME_RINVOPTPARSTREAM: 0xc0,
  ESME_ROPTPARNOTALLWD: 0xc1,
  ESME_RINVPARLEN: 0xc2,
  ESME_RMISSINGOPTPARAM: 0xc3,
  ESME_RINVOPTPARAMVAL: 0xc4,
  ESME_RDELIVERYFAILURE: 0xfe,
  ESME_RUNKNOWNERR: 0xff,
} as const;

/** The name of a command_status that SMPP 3.4 defines. */
export type StatusName = keyof typeof STATUS;

const NAMES = new Map<number, StatusName>(
  (Object.entries(STATUS) as [StatusName, number][]).map(([name, code]) => [code, name]),
);

/** The name of a status, or the hexadecimal value of a vendor status. */
export function statusName(status: number): string {
  return NAMES.get(status) ?? `0x${status.toString(16).padStart(8, "0")}`;
}

/**
 * The kind of a refused submit:
 * `permanent`: this carrier never accepts the message; `throttled` (0x58, 0x14): slow down and retry (the carrier
 * service decides by scope, `services/carrier/domain/throttling.ts`); `temporary`: the same submit may succeed later;
 * `bind`: the link is not usable, and the client binds again.
 */
export type Disposition = "permanent" | "throttled" | "temporary" | "bind";

const DISPOSITIONS = new Map<number, Disposition>([
  [STATUS.ESME_RTHROTTLED, "throttled"],
  [STATUS.ESME_RMSGQFUL, "throttled"],
  [STATUS.ESME_RSYSERR, "temporary"],
  [STATUS.ESME_RX_T_APPN, "temporary"],
  [STATUS.ESME_RUNKNOWNERR, "temporary"],
  [STATUS.ESME_RINVBNDSTS, "bind"],
  [STATUS.ESME_RALYBND, "bind"],
]);

/** Classifies a non-zero status; an unknown status is a permanent refusal. */
export function dispositionOf(status: number): Disposition {
  return DISPOSITIONS.get(status) ?? "permanent";
}
