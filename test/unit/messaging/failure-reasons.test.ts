import { expect } from "chai";
import { failedCode, undeliveredCode } from "../../../services/messaging/domain/failure-reasons.ts";
import { UNDELIVERED_CODES } from "../../../services/routing/domain/smpp-settings.ts";

/** The message error codes (`docs/contract.md#statuses`). */
const UNDELIVERED = [
  ...["absent_subscriber", "unknown_subscriber", "subscriber_barred", "handset_error"],
  ...["network_error", "validity_expired", "spam_blocked", "dnd_blocked"],
  ...["carrier_rejected", "unknown"],
];
const FAILED = [
  ...["no_route", "carrier_rejected", "carrier_unavailable", "submission_unknown"],
  ...["sender_id_not_approved", "tenant_suspended", "queue_expired", "dnd_blocked"],
];
const ALL = new Set([...UNDELIVERED, ...FAILED, "no_receipt", "cancelled", "constructor", ""]);

describe("the error codes of messages", () => {
  it("undelivered carries its own codes, and unknown for every other", () => {
    for (const code of ALL) {
      expect(undeliveredCode(code), code).to.equal(UNDELIVERED.includes(code) ? code : "unknown");
    }
  });

  it("failed carries its own codes, and carrier_rejected for every other", () => {
    for (const code of ALL) {
      expect(failedCode(code), code).to.equal(FAILED.includes(code) ? code : "carrier_rejected");
    }
  });

  it("a connector's own table may name what undelivered carries", () => {
    expect([...UNDELIVERED_CODES].sort()).to.deep.equal([...UNDELIVERED].sort());
  });
});
