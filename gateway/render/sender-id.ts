import {
  type SenderId,
  SenderIdStatus,
  TrafficClass,
} from "../../proto/gen/sms/v1/sender_id_pb.js";
import { invert } from "../../services/shared/core/invert.ts";
import { formatInstant } from "../../services/shared/core/rfc3339.ts";
import { textOrNull } from "./message.ts";

/** Sender ID statuses by public name. */
export const SENDER_ID_STATUSES = {
  pending: SenderIdStatus.PENDING,
  approved: SenderIdStatus.APPROVED,
  rejected: SenderIdStatus.REJECTED,
  suspended: SenderIdStatus.SUSPENDED,
} as const;

const NAMES: ReadonlyMap<SenderIdStatus, string> = invert(SENDER_ID_STATUSES);

const CLASS_NAMES: Readonly<Record<TrafficClass, string>> = {
  [TrafficClass.UNSPECIFIED]: "transactional",
  [TrafficClass.OTP]: "otp",
  [TrafficClass.TRANSACTIONAL]: "transactional",
  [TrafficClass.PROMOTIONAL]: "promotional",
};

/** Renders a sender ID. It is usable only when approved, and only while its account may send. */
export function renderSenderId(senderId: SenderId, isTenantActive: boolean) {
  return {
    id: senderId.id,
    object: "sender_id",
    name: senderId.name,
    status: NAMES.get(senderId.status) ?? "",
    usable: isTenantActive && senderId.status === SenderIdStatus.APPROVED,
    rejection_reason: textOrNull(senderId.rejectionReason),
    traffic_class: CLASS_NAMES[senderId.trafficClass],
    use_case: textOrNull(senderId.useCase),
    sample: textOrNull(senderId.sample),
    created_at: formatInstant(Number(senderId.createdAtMs)),
    updated_at: formatInstant(Number(senderId.updatedAtMs)),
  };
}
