import type { ClaimedMessage, IncomingReceipt } from "../../services/carrier/domain/message.ts";
import type { Submission } from "../../services/carrier/domain/submission.ts";

/** A claimed message for tests; what matters to a test is given. */
export function claimed(fields: Partial<ClaimedMessage> = {}): ClaimedMessage {
  return {
    messageId: "msg_01J00000000000000000000000",
    claimId: "claim-1",
    to: "+2348031234567",
    from: "DEMO",
    body: "hello",
    encoding: "gsm7",
    segments: 1,
    attempt: 0,
    queueUntilMs: Number.MAX_SAFE_INTEGER,
    ...fields,
  };
}

/** A receipt from a carrier, with the number of `submissionOf`. */
export function incomingReceipt(fields: Partial<IncomingReceipt> = {}): IncomingReceipt {
  return {
    connectorId: "smsc",
    keys: ["k1"],
    verdict: "delivered",
    errorCode: "",
    carrierCode: "DELIVRD",
    occurredAtMs: 0,
    to: "2348031234567",
    from: "demo",
    messageId: "",
    ...fields,
  };
}

/** An accepted submit of a message in one part. */
export function submissionOf(fields: Partial<Submission> = {}): Submission {
  return {
    connectorId: "smsc",
    key: "k1",
    messageId: "msg_01J00000000000000000000000",
    segment: 0,
    to: "2348031234567",
    from: "demo",
    atMs: 0,
    ...fields,
  };
}
