/** One part of a message from a handset, as a link decoded it. */
export type InboundPart = {
  readonly from: string;
  readonly to: string;
  readonly body: string;
  readonly encoding: "gsm7" | "ucs2";
  /** The number that the parts of one message share; 0 for a message in one part. */
  readonly reference: number;
  readonly total: number;
  /** The place of the part in its message, counted from 1. */
  readonly sequence: number;
  /** The carrier's own id of the message; empty over SMPP, which has none. */
  readonly carrierMessageId: string;
};
