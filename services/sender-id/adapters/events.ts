import { create, toBinary } from "@bufbuild/protobuf";
import { EventSchema } from "../../../proto/gen/sms/v1/events_pb.js";
import { newId } from "../../shared/core/ids.ts";
import type { Nats } from "../../shared/io/nats.ts";
import type { StreamItem } from "../../shared/io/publisher.ts";
import type { Reviewed, SenderIdInvalidation } from "../app/sender-ids.ts";
import type { Review } from "../domain/sender-id.ts";
import { senderIdToProto } from "./proto.ts";

/** The event type of each review (docs/contract.md#sender-ids). */
const EVENT_TYPES: Readonly<Record<Review, string>> = {
  approve: "approved",
  reject: "rejected",
  suspend: "suspended",
  reinstate: "reinstated",
};

/** Encodes the event of a review: subject `events.sender_id.<tenant>.<type>`. */
export function toSenderIdEvent({ senderId, action, isTenantActive }: Reviewed): StreamItem {
  const type = EVENT_TYPES[action];
  const id = newId("event");
  const event = create(EventSchema, {
    id,
    tenantId: senderId.tenantId,
    occurredAtMs: BigInt(senderId.updatedAtMs),
    payload: {
      case: "senderIdChanged",
      value: { type, senderId: senderIdToProto(senderId), tenantSuspended: !isTenantActive },
    },
  });
  return {
    id,
    subject: `events.sender_id.${senderId.tenantId}.${type}`,
    data: toBinary(EventSchema, event),
  };
}

/**
 * Publishes cache invalidations as NATS core messages. After a lost message caches are out of date
 * for at most five seconds.
 */
export function createSenderIdInvalidation(nats: Nats): SenderIdInvalidation {
  return {
    changed: (tenantId) => nats.connection.publish(`invalidate.sender_id.${tenantId}`),
  };
}
