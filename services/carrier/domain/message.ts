/** What a carrier process handles: claimed messages, their parts, and what became of them. */

/** A message this carrier has claimed and must answer for. */
export type ClaimedMessage = {
  readonly messageId: string;
  readonly claimId: string;
  /** E.164. */
  readonly to: string;
  readonly from: string;
  readonly body: string;
  readonly encoding: "gsm7" | "ucs2";
  readonly segments: number;
  /** System errors so far over this route; throttling and links that were down do not count. */
  readonly attempt: number;
  readonly queueUntilMs: number;
  /** W3C traceparent of what accepted the message, when it is traced. */
  readonly traceparent?: string | undefined;
};

/** What the carrier said to one submit. */
export type PartOutcome =
  | { readonly kind: "accepted"; readonly carrierMessageId: string }
  | {
      readonly kind: "refused";
      /** The carrier's own code, for operators. */
      readonly code: string;
      readonly disposition: Disposition;
    }
  | { readonly kind: "unknown"; readonly code: string }
  /** Certain: the carrier has nothing of it, and it may go again at once. */
  | { readonly kind: "not_sent"; readonly code: string };

/**
 * What a refusal means: `permanent` (this carrier never takes it), `throttled` (slow down, keep the
 * place), `temporary` (the same submit may succeed later), `bind` (the link is not usable).
 */
export type Disposition = "permanent" | "throttled" | "temporary" | "bind";

/** What became of a claimed message; `sms.v1.OutcomeKind`. */
export type OutcomeKind = "accepted" | "refused" | "not_sent" | "unknown" | "partly_refused";

/** The report on one claimed message. */
export type Outcome = {
  readonly messageId: string;
  readonly claimId: string;
  readonly kind: OutcomeKind;
  readonly carrierCode: string;
  /**
   * Our message error code for `refused`; empty lets messaging choose. For `not_sent`
   * `carrier_unavailable` says that the carrier's system failed, which spends the message's patience.
   */
  readonly errorCode: string;
  /** For `not_sent`: not to be claimed again before. */
  readonly retryAtMs: number;
  /** For `unknown`: some parts were not submitted and will not be. */
  readonly isIncomplete?: boolean;
  readonly occurredAtMs: number;
};

/** What a receipt proves; `acknowledged` only that the carrier has the message. */
export type ReceiptVerdict = "delivered" | "undelivered" | "acknowledged";

/** A receipt matched to its message. */
export type MatchedReceipt = {
  readonly messageId: string;
  /** By which connector it came, where it names its message itself; empty where the carrier's id does. */
  readonly connectorId: string;
  /** Counted from 1; 0 means the whole message. */
  readonly segment: number;
  /** How many there are to be heard of; 0 where that is the message's count of segments. */
  readonly parts: number;
  /** It was found by its parties, which fit several segments in doubt. */
  readonly isSegmentGuessed: boolean;
  /** The same for all receipts of one part; empty for the whole message, and without a carrier's id. */
  readonly partKey: string;
  readonly verdict: ReceiptVerdict;
  readonly errorCode: string;
  readonly carrierCode: string;
  readonly occurredAtMs: number;
};

/** A receipt as it came from a carrier. */
export type IncomingReceipt = {
  readonly connectorId: string;
  /** Canonical forms of the carrier's message id, best first; empty when the receipt has none. */
  readonly keys: readonly string[];
  /** Only its text makes it a receipt, which a handset may have written: its id proves too little alone. */
  readonly isUnmarked?: boolean;
  readonly verdict: ReceiptVerdict;
  readonly errorCode: string;
  readonly carrierCode: string;
  readonly occurredAtMs: number;
  /** Parties of the message as digits and text; empty when not told. */
  readonly to: string;
  readonly from: string;
  /** Set when the receipt itself names the message (a signed receipt URL does). */
  readonly messageId: string;
};

/** The journal could not be written: no octet of what it was to name has left. */
export class JournalError extends Error {
  constructor(cause: unknown) {
    super("the journal cannot be written", { cause });
    this.name = "JournalError";
  }
}

/** The code of a part that was held back because the journal could not be written. */
export const JOURNAL_FAILED = "journal_failed";

/** Whether a part was held back for want of a journal: our own fault, and every part's. */
export function isJournalFailure(outcome: PartOutcome): boolean {
  return outcome.kind === "not_sent" && outcome.code === JOURNAL_FAILED;
}
