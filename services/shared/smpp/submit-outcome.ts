import type { NotSentReason, RequestOutcome } from "./request-window.ts";
import { type Disposition, dispositionOf, STATUS, statusName } from "./statuses.ts";

/**
 * How a submit ended:
 * - `accepted`: the SMSC took it under `messageId` (empty when it gave none).
 * - `refused`: the SMSC said no; it will not send it. `disposition` says whether to try again.
 * - `unknown`: it may or may not have been taken. Never submit it again on this evidence.
 * - `not_sent`: the SMSC has not seen an octet of it. Safe to submit again anywhere.
 */
export type SubmitOutcome =
  | { kind: "accepted"; messageId: string }
  | { kind: "refused"; status: number; statusName: string; disposition: Disposition }
  | { kind: "unknown"; reason: "timeout" | "closed" | "bad_answer" }
  | { kind: "not_sent"; reason: NotSentReason; cause?: unknown };

/** Reads how a request for submit_sm or data_sm ended as the outcome of the submit. */
export function submitOutcome(outcome: RequestOutcome): SubmitOutcome {
  if (outcome.kind !== "answered") return outcome;
  const { response } = outcome;
  if (response.command === "submit_sm_resp" || response.command === "data_sm_resp") {
    if (response.status === STATUS.ESME_ROK) {
      return { kind: "accepted", messageId: response.body.messageId };
    }
  } else if (response.status === STATUS.ESME_ROK) {
    // A generic_nack that says "no error" says nothing about the message.
    return { kind: "unknown", reason: "bad_answer" };
  }
  const { status } = response;
  const disposition = dispositionOf(status);
  return { kind: "refused", status, statusName: statusName(status), disposition };
}
