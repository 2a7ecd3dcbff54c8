import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  type SenderIdSchema,
  SenderIdStatus as StatusProto,
  TrafficClass as TrafficClassProto,
} from "../../../proto/gen/sms/v1/sender_id_pb.js";
import type { SenderId, SenderIdStatus, TrafficClass } from "../domain/sender-id.ts";

const STATUS_TO_PROTO: Readonly<Record<SenderIdStatus, StatusProto>> = {
  pending: StatusProto.PENDING,
  approved: StatusProto.APPROVED,
  rejected: StatusProto.REJECTED,
  suspended: StatusProto.SUSPENDED,
};

const CLASS_TO_PROTO: Readonly<Record<TrafficClass, TrafficClassProto>> = {
  otp: TrafficClassProto.OTP,
  transactional: TrafficClassProto.TRANSACTIONAL,
  promotional: TrafficClassProto.PROMOTIONAL,
};

/** Maps a sender ID to its protobuf message. */
export function senderIdToProto(senderId: SenderId): MessageInitShape<typeof SenderIdSchema> {
  return {
    id: senderId.id,
    tenantId: senderId.tenantId,
    name: senderId.name,
    status: STATUS_TO_PROTO[senderId.status],
    rejectionReason: senderId.rejectionReason,
    trafficClass: CLASS_TO_PROTO[senderId.trafficClass],
    useCase: senderId.useCase,
    sample: senderId.sample,
    createdAtMs: BigInt(senderId.createdAtMs),
    updatedAtMs: BigInt(senderId.updatedAtMs),
  };
}

/** The same for callers that send under it: without the texts of its request. */
export function resolvedToProto(senderId: SenderId): MessageInitShape<typeof SenderIdSchema> {
  return { ...senderIdToProto(senderId), useCase: "", sample: "" };
}
