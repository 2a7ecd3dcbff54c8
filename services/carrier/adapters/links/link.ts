import type { ClaimedMessage, IncomingReceipt, PartOutcome } from "../../domain/message.ts";

/** One part of a message, ready for the wire; what it holds is the link's own business. */
export type Part = {
  readonly messageId: string;
  /** Counted from 0. */
  readonly index: number;
  readonly payload: unknown;
};

/** How a link stands, as health reports spell it. */
export type LinkStatus = "bound" | "connecting" | "down";

/** One way to a carrier: an SMPP bind, an HTTP interface, the test route. */
export type Link = {
  readonly status: LinkStatus;
  /** What went wrong last; empty when nothing did. */
  readonly lastError: string;
  /** Submits that may be unanswered at a time. */
  readonly window: number;
  /** Submits that are unanswered now. */
  readonly inFlight: number;
  /** Its refusals and silences are scripted by recipients, and say nothing of its pace. */
  readonly isScripted?: boolean;
  start(): void;
  /** Cuts a message into what goes on the wire. Throws when it cannot be put on this wire at all. */
  prepare(message: ClaimedMessage): readonly Part[];
  /**
   * Sends one part; rejects with what `beforeWrite` threw, and with nothing else. Only call with room in
   * the window.
   */
  submit(part: Part): Promise<PartOutcome>;
  /** The form under which a carrier's message id is kept. */
  keyOf(carrierMessageId: string): string;
  /** Waits for answers at most so long, then leaves in good order. */
  close(drainMs: number): Promise<void>;
};

/** What a link tells its owner. */
export type LinkEvents = {
  /**
   * Called with messages whose first octet is about to leave; durable when it returns. Throws
   * `JournalError` when it cannot be: then nothing may leave.
   */
  readonly beforeWrite: (messageIds: readonly string[]) => void;
  /** Takes a receipt; resolves when it may be acknowledged. */
  readonly onReceipt: (receipt: IncomingReceipt) => Promise<void>;
  /** The answer to a submit that had ended as unknown. */
  readonly onLateAnswer: (messageId: string, partIndex: number, outcome: PartOutcome) => void;
  /** The link's state changed: there may be room now. */
  readonly onChange: () => void;
  /** A message from a handset was delivered and acknowledged. */
  readonly onMobileOriginated: () => void;
};
