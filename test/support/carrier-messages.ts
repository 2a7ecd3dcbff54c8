import type { ClaimedMessage } from "../../services/carrier/domain/message.ts";

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
