import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  type SenderIdSchema,
  SenderIdStatus as StatusProto,
} from "../../../proto/gen/sms/v1/sender_id_pb.js";
import { WIRE_TRAFFIC_CLASS } from "../../shared/rpc/traffic-class.ts";
import type { SenderId, SenderIdStatus } from "../domain/sender-id.ts";

const STATUS_TO_PROTO: Readonly<Record<SenderIdStatus, StatusProto>> = {
  pending: StatusProto.PENDING,
  approved: StatusProto.APPROVED,
  rejected: StatusProto.REJECTED,
  suspended: StatusProto.SUSPENDED,
};

/** Maps a sender ID to its protobuf message. */
export function senderIdToProto(senderId: SenderId): MessageInitShape<typeof SenderIdSchema> {
  return {
    id: senderId.id,
    tenantId: senderId.tenantId,
    name: senderId.name,
    status: STATUS_TO_PROTO[senderId.status],
    rejectionReason: senderId.rejectionReason,
    trafficClass: WIRE_TRAFFIC_CLASS[senderId.trafficClass],
    useCase: senderId.useCase,
    sample: senderId.sample,
    createdAtMs: BigInt(senderId.createdAtMs),
    updatedAtMs: BigInt(senderId.updatedAtMs),
  };
}

/** Maps a sender ID for callers that send under it: without the use case and sample of its request. */
export function resolvedToProto(senderId: SenderId): MessageInitShape<typeof SenderIdSchema> {
  return { ...senderIdToProto(senderId), useCase: "", sample: "" };
}
