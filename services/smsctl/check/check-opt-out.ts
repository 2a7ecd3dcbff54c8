/** Compares a message with an opt-out of its recipient. Pure, so that a test covers the whole table. */
import type { Suppression } from "../../../proto/gen/sms/v1/consent_pb.js";
import { type Message, MessageStatus } from "../../../proto/gen/sms/v1/messaging_pb.js";
import { TrafficClass } from "../../../proto/gen/sms/v1/sender_id_pb.js";

/** Messaging decides by a snapshot of the opt-outs, which is at most this old. */
const SNAPSHOT_AGE_MS = 60_000;

const SUBMITTED: ReadonlySet<MessageStatus> = new Set([
  MessageStatus.SENT,
  MessageStatus.DELIVERED,
  MessageStatus.UNDELIVERED,
  MessageStatus.EXPIRED,
]);

/** True when the message was claimed although its recipient had opted out. */
export function isDespiteOptOut(
  message: Pick<
    Message,
    "status" | "from" | "trafficClass" | "claimedAtMs" | "isConsentReply" | "error"
  >,
  optOut: Pick<Suppression, "sender" | "createdAtMs">,
): boolean {
  const isInDoubt = message.error?.code === "submission_unknown";
  if (!SUBMITTED.has(message.status) && !isInDoubt) return false;
  // A messaging process of the previous release returns neither the class nor the time of the claim.
  if (message.trafficClass === TrafficClass.UNSPECIFIED) return false;
  if (message.trafficClass === TrafficClass.OTP || message.isConsentReply) return false;
  if (optOut.sender !== "" && optOut.sender !== message.from.toLowerCase()) return false;
  return Number(message.claimedAtMs) > Number(optOut.createdAtMs) + SNAPSHOT_AGE_MS;
}
