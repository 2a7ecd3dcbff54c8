import { expect } from "chai";
import { MessageStatus } from "../../../proto/gen/sms/v1/messaging_pb.js";
import { TrafficClass } from "../../../proto/gen/sms/v1/sender_id_pb.js";
import { isDespiteOptOut } from "../../../services/smsctl/check/check-opt-out.ts";

const AT_MS = 1_000_000;
const OPT_OUT = { sender: "", createdAtMs: BigInt(AT_MS) };
const MESSAGE = {
  status: MessageStatus.SENT,
  from: "Acme",
  trafficClass: TrafficClass.TRANSACTIONAL,
  claimedAtMs: BigInt(AT_MS + 60_001),
  isConsentReply: false,
};

describe("a message to a number that has opted out", () => {
  for (const [what, message, optOut, expected] of [
    ["claimed a minute later", {}, {}, true],
    ["claimed within the age of a snapshot", { claimedAtMs: BigInt(AT_MS + 60_000) }, {}, false],
    ["promotional", { trafficClass: TrafficClass.PROMOTIONAL }, {}, true],
    ["of a class of a newer release", { trafficClass: 99 as TrafficClass }, {}, true],
    ["a one-time code", { trafficClass: TrafficClass.OTP }, {}, false],
    ["of a release without classes", { trafficClass: TrafficClass.UNSPECIFIED }, {}, false],
    ["the confirmation of the opt-out", { isConsentReply: true }, {}, false],
    ["delivered", { status: MessageStatus.DELIVERED }, {}, true],
    ["undelivered", { status: MessageStatus.UNDELIVERED }, {}, true],
    ["expired", { status: MessageStatus.EXPIRED }, {}, true],
    ["queued", { status: MessageStatus.QUEUED }, {}, false],
    ["failed", { status: MessageStatus.FAILED }, {}, false],
    [
      "in doubt",
      { status: MessageStatus.FAILED, error: { code: "submission_unknown" } as never },
      ...[{}, true],
    ],
    ["of the sender ID that is blocked", {}, { sender: "acme" }, true],
    ["of another sender ID", {}, { sender: "other" }, false],
  ] as const) {
    it(`${what}: ${expected ? "a breach" : "none"}`, () => {
      const found = isDespiteOptOut(
        { error: undefined, ...MESSAGE, ...(message as object) } as never,
        { ...OPT_OUT, ...(optOut as object) },
      );
      expect(found).to.equal(expected);
    });
  }
});
