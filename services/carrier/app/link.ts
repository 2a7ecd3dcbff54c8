/** The port to a carrier; `adapters/links/` implements it for SMPP, HTTP and the test route. */
import type { InboundPart } from "../domain/inbound-part.ts";
import type { PartRef } from "../domain/journal-lines.ts";
import type { ClaimedMessage, IncomingReceipt, PartOutcome } from "../domain/message.ts";

/** One part of a message, ready for the wire. Only the link that prepared it reads `payload`. */
export type Part = {
  readonly messageId: string;
  /** Counted from 0. */
  readonly index: number;
  readonly payload: unknown;
};

/** The state of a link, spelled as in health reports. */
export type LinkStatus = "bound" | "connecting" | "down";

/** One connection to a carrier: an SMPP bind, an HTTP interface or the test route. */
export type Link = {
  readonly status: LinkStatus;
  /** The last error; empty when there is none. */
  readonly lastError: string;
  /** The most submits that may be unanswered at a time. */
  readonly window: number;
  /** Submits that are unanswered now. */
  readonly inFlight: number;
  /** True for the test route: test numbers choose its refusals and timeouts, which must not shrink the window. */
  readonly isScripted?: boolean;
  start(): void;
  /** Splits a message into parts for the wire. Throws when the link cannot encode the message. */
  prepare(message: ClaimedMessage): readonly Part[];
  /**
   * Sends one part. Rejects only with the error that `beforeWrite` threw. Call it only when the window has
   * a free slot.
   */
  submit(part: Part): Promise<PartOutcome>;
  /** The canonical form under which the store keeps a carrier's message id. */
  keyOf(carrierMessageId: string): string;
  /** Waits at most `drainMs` for answers, then unbinds and closes. */
  close(drainMs: number): Promise<void>;
};

/** The callbacks of a link. */
export type LinkEvents = {
  /**
   * Called with parts whose first octet is about to leave; the journal has them when it returns. Throws
   * `JournalError` when the journal cannot be written: then the link sends nothing.
   */
  readonly beforeWrite: (parts: readonly PartRef[]) => void;
  /** Takes a receipt; the link acknowledges it to the carrier when the promise resolves. */
  readonly onReceipt: (receipt: IncomingReceipt) => Promise<void>;
  /** The answer to a submit that already ended as `unknown`. */
  readonly onLateAnswer: (messageId: string, partIndex: number, outcome: PartOutcome) => void;
  /** The state of the link changed: the window may have free slots now. */
  readonly onChange: () => void;
  /** Takes a message from a handset; the link acknowledges it to the carrier when the promise resolves. */
  readonly onInbound: (part: InboundPart) => Promise<void>;
};
