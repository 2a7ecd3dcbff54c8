import type { NotSentReason, RequestOutcome } from "./request-window.ts";
import { type Disposition, dispositionOf, STATUS, statusName } from "./statuses.ts";

/**
 * The outcome of a submit:
 * - `accepted`: the SMSC accepted it with `messageId` (empty when it gave none).
 * - `refused`: the SMSC will not send it. `disposition` says whether to retry.
 * - `unknown`: the SMSC may have it. Do not submit it again.
 * - `not_sent`: no octet of it left. Safe to submit again anywhere.
 */
export type SubmitOutcome =
  | { kind: "accepted"; messageId: string }
  | { kind: "refused"; status: number; statusName: string; disposition: Disposition }
  | { kind: "unknown"; reason: "timeout" | "closed" | "bad_answer" }
  | { kind: "not_sent"; reason: NotSentReason; cause?: unknown };

/** Maps the end of a submit_sm or data_sm request to the outcome of the submit. */
export function submitOutcome(outcome: RequestOutcome): SubmitOutcome {
  if (outcome.kind !== "answered") return outcome;
  const { response } = outcome;
  if (response.command === "submit_sm_resp" || response.command === "data_sm_resp") {
    if (response.status === STATUS.ESME_ROK) {
      return { kind: "accepted", messageId: response.body.messageId };
    }
  } else if (response.status === STATUS.ESME_ROK) {
    // A generic_nack with status 0 proves nothing about the message.
    return { kind: "unknown", reason: "bad_answer" };
  }
  const { status } = response;
  const disposition = dispositionOf(status);
  return { kind: "refused", status, statusName: statusName(status), disposition };
}
