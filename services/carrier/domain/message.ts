/** Claimed messages, the outcomes of their parts, and receipts. */

/** A message that this carrier has claimed; it must report an outcome for it. */
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
  /** The span in which its first part may be submitted; absent when it always may. */
  readonly openSpan?: { readonly fromMs: number; readonly untilMs: number } | undefined;
  /** W3C traceparent of the request that accepted the message, when it is traced. */
  readonly traceparent?: string | undefined;
};

/** False in the quiet hours of the recipient, which may have begun since the claim. */
export function maySubmit({ openSpan }: ClaimedMessage, nowMs: number): boolean {
  return openSpan === undefined || (nowMs >= openSpan.fromMs && nowMs < openSpan.untilMs);
}

/** The outcome of one submit. */
export type PartOutcome =
  | { readonly kind: "accepted"; readonly carrierMessageId: string }
  | {
      readonly kind: "refused";
      /** The carrier's own code, for operators. */
      readonly code: string;
      readonly disposition: Disposition;
      /** For `permanent`: our error code for this refusal, if the connector has one (`submit_error_codes`). */
      readonly errorCode?: string;
      /** For `throttled`: what the status is about at first sight; `bind` when absent. */
      readonly scope?: ThrottleScope;
      /** For `throttled`: the cause as the other answers show it; `bind` when absent. */
      readonly cause?: RefusalCause;
      /** For `throttled`: the carrier wants no repetition earlier than after this time. */
      readonly retryAfterMs?: number;
    }
  | { readonly kind: "unknown"; readonly code: string }
  /** The carrier certainly has nothing of the part, which may be submitted again at once. */
  | { readonly kind: "not_sent"; readonly code: string };

/**
 * The kind of a refusal: `permanent` (this carrier never accepts the message), `throttled` (slow down and retry),
 * `temporary` (the same submit may succeed later), `bind` (the link is not usable).
 */
export type Disposition = "permanent" | "throttled" | "temporary" | "bind";

/** The assumed cause of a throttling status: the whole bind, or one number. */
export type ThrottleScope = "bind" | "number";

/** The cause of a throttling refusal as the other answers show it; `unclear` when nothing was accepted since. */
export type RefusalCause = "bind" | "number" | "unclear";

/** The kinds of outcomes; `sms.v1.OutcomeKind`. */
export type OutcomeKind = "accepted" | "refused" | "not_sent" | "unknown" | "partly_refused";

/** The outcome of one claimed message. */
export type Outcome = {
  readonly messageId: string;
  readonly claimId: string;
  readonly kind: OutcomeKind;
  readonly carrierCode: string;
  /**
   * For `refused` our error code of the message; empty lets messaging choose. For `not_sent` `carrier_unavailable`
   * counts a system error of the carrier, of which the eighth refuses the message.
   */
  readonly errorCode: string;
  /** For `not_sent`: the earliest time of the next claim. */
  readonly retryAtMs: number;
  /** For `unknown`: some parts were not submitted and will not be. */
  readonly isIncomplete?: boolean;
  readonly occurredAtMs: number;
};

/** The result in a receipt; `acknowledged` proves only that the carrier has the message. */
export type ReceiptVerdict = "delivered" | "undelivered" | "acknowledged";

/** A receipt matched to its message. */
export type MatchedReceipt = {
  readonly messageId: string;
  /** The connector of a receipt that names its message itself; empty when the carrier's id found the message. */
  readonly connectorId: string;
  /** Counted from 1; 0 means the whole message. */
  readonly segment: number;
  /** The number of parts that get receipts; 0 when it is the number of segments. */
  readonly parts: number;
  /**
   * True when several segments fit. In a receipt for the whole message: it counts only for segments without a
   * failure.
   */
  readonly isSegmentGuessed: boolean;
  /** Equal in all receipts of one part; empty for the whole message and without a carrier id. */
  readonly partKey: string;
  readonly verdict: ReceiptVerdict;
  readonly errorCode: string;
  readonly carrierCode: string;
  readonly occurredAtMs: number;
};

/** A receipt from a carrier, not matched yet. */
export type IncomingReceipt = {
  readonly connectorId: string;
  /** Canonical forms of the carrier's message id, best first; empty when the receipt has none. */
  readonly keys: readonly string[];
  /** True when only the text marks it as a receipt: a handset may have written that, so its id alone proves nothing. */
  readonly isUnmarked?: boolean;
  readonly verdict: ReceiptVerdict;
  readonly errorCode: string;
  readonly carrierCode: string;
  readonly occurredAtMs: number;
  /** Recipient and sender as `normalizeAddress` writes them; empty when the receipt has none. */
  readonly to: string;
  readonly from: string;
  /** Set when the receipt names the message itself, as a signed receipt URL does. */
  readonly messageId: string;
  /** The time from the submit to the final state by the carrier's own clock, if the receipt has both dates. */
  readonly tookMs?: number;
  /**
   * Set in the receipt that completes a message whose parts share one id: the number of its parts. It counts for
   * the parts that have no receipt of their own.
   */
  readonly restOfParts?: number;
};

/** The journal could not be written: no octet of the messages in that write has left. */
export class JournalError extends Error {
  constructor(cause: unknown) {
    super("the journal cannot be written", { cause });
    this.name = "JournalError";
  }
}

/** The code of a part that was not sent because the journal could not be written. */
export const JOURNAL_FAILED = "journal_failed";

/** Whether a part was not sent because of the journal: a fault of this process, which affects every part. */
export function isJournalFailure(outcome: PartOutcome): boolean {
  return outcome.kind === "not_sent" && outcome.code === JOURNAL_FAILED;
}
