/**
 * Events in: `events.message.*.<status>` by the durable consumer `campaign-messages`; those of campaigns move rows, any
 * other is acknowledged.
 * Events out: `events.campaign.<tenant id>.<type>`.
 */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { type Event, EventSchema } from "../../../proto/gen/sms/v1/events_pb.js";
import { type Message, MessageSource } from "../../../proto/gen/sms/v1/messaging_pb.js";
import { newId } from "../../shared/core/ids.ts";
import { MESSAGE_STATUSES, type MessageStatus } from "../../shared/core/message-status.ts";
import { subjectsOfCampaigns } from "../../shared/core/message-subjects.ts";
import { ACK, type Acknowledgement, type Delivered } from "../../shared/io/consumer.ts";
import type { StreamItem } from "../../shared/io/publisher.ts";
import type { CampaignMessageChange, FollowMessages } from "../app/follow-messages.ts";
import type { Transition } from "../domain/campaign.ts";
import { campaignToProto, STATUS_TO_PROTO } from "./proto.ts";

/** The durable consumer's name. */
export const MESSAGES_DURABLE = "campaign-messages";
/** Statuses whose events are read. `queued` is left out: the stored answer of a chunk has it. */
const FOLLOWED_STATUSES = [
  "sent",
  "delivered",
  "undelivered",
  "expired",
  "failed",
  "cancelled",
] as const satisfies readonly CampaignMessageChange["status"][];
export const MESSAGES_SUBJECTS = subjectsOfCampaigns(FOLLOWED_STATUSES);

/** The start of a campaign's id; an event without these bytes is of no campaign and need not be decoded. */
const CAMPAIGN_MARK = Buffer.from("cmp_");

/** Handles a batch of the consumer. It throws, and the whole batch is repeated, when the database is away. */
export function createMessageHandler(follow: FollowMessages) {
  return async (items: readonly Delivered[]): Promise<readonly Acknowledgement[]> => {
    const acknowledgements: Acknowledgement[] = [];
    const changes: CampaignMessageChange[] = [];
    for (const { data } of items) {
      const read = readItem(data);
      if (typeof read === "string") acknowledgements.push({ kind: "dead", reason: read });
      else {
        acknowledgements.push(ACK);
        if (read !== undefined) changes.push(read);
      }
    }
    await follow(changes);
    return acknowledgements;
  };
}

function readItem(data: Uint8Array): CampaignMessageChange | string | undefined {
  if (!Buffer.from(data.buffer, data.byteOffset, data.length).includes(CAMPAIGN_MARK)) {
    return undefined;
  }
  let event: Event;
  try {
    event = fromBinary(EventSchema, data);
  } catch {
    return "not an event";
  }
  const message = event.payload.case === "messageChanged" ? event.payload.value.message : undefined;
  if (message === undefined || message.source !== MessageSource.CAMPAIGN) return undefined;
  return toChange(message);
}

function toChange(message: Message): CampaignMessageChange | string | undefined {
  const status = MESSAGE_STATUSES[message.status - 1];
  if (status === undefined) return "a status that this version does not know";
  if (!isFollowed(status)) return undefined;
  return {
    campaignId: message.campaignId,
    messageId: message.id,
    to: message.to,
    status,
    held: message.heldAmount,
    amount: message.amount ?? 0n,
    updatedAtMs: Number(message.updatedAtMs),
    error: message.error && { code: message.error.code, message: message.error.message },
  };
}

function isFollowed(status: MessageStatus): status is CampaignMessageChange["status"] {
  return FOLLOWED_STATUSES.some((followed) => followed === status);
}

/** Encodes the event of a change of state; undefined where none is announced. */
export function toCampaignEvent({
  campaign,
  previous,
  event: type,
}: Transition): StreamItem | undefined {
  if (type === undefined) return undefined;
  const id = newId("event");
  const event = create(EventSchema, {
    id,
    tenantId: campaign.tenantId,
    occurredAtMs: BigInt(campaign.updatedAtMs),
    payload: {
      case: "campaignChanged",
      value: {
        type,
        previousStatus: STATUS_TO_PROTO[previous],
        campaign: campaignToProto(campaign),
      },
    },
  });
  const subject = `events.campaign.${campaign.tenantId}.${type}`;
  return { id, subject, data: toBinary(EventSchema, event) };
}
