import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  type SenderIdSchema,
  SenderIdStatus as StatusProto,
  TrafficClass,
} from "../../../proto/gen/sms/v1/sender_id_pb.js";
import type { SenderId, SenderIdStatus } from "../domain/sender-id.ts";

const STATUS_TO_PROTO: Readonly<Record<SenderIdStatus, StatusProto>> = {
  pending: StatusProto.PENDING,
  approved: StatusProto.APPROVED,
  rejected: StatusProto.REJECTED,
  suspended: StatusProto.SUSPENDED,
};

const CLASS_TO_PROTO: Readonly<Record<SenderId["trafficClass"], TrafficClass>> = {
  otp: TrafficClass.OTP,
  transactional: TrafficClass.TRANSACTIONAL,
  promotional: TrafficClass.PROMOTIONAL,
};

/** Reads a class of traffic; undefined when none is given. */
export function readTrafficClass(wire: TrafficClass): SenderId["trafficClass"] | undefined {
  const classes = Object.entries(CLASS_TO_PROTO) as [SenderId["trafficClass"], TrafficClass][];
  return classes.find(([, number]) => number === wire)?.[0];
}

/** Maps a sender ID to its protobuf message. */
export function senderIdToProto(senderId: SenderId): MessageInitShape<typeof SenderIdSchema> {
  return {
    id: senderId.id,
    tenantId: senderId.tenantId,
    name: senderId.name,
    status: STATUS_TO_PROTO[senderId.status],
    rejectionReason: senderId.rejectionReason,
    trafficClass: CLASS_TO_PROTO[senderId.trafficClass],
    createdAtMs: BigInt(senderId.createdAtMs),
    updatedAtMs: BigInt(senderId.updatedAtMs),
  };
}
