/** Messages as protobuf: for responses, events and stored responses. */
import { create } from "@bufbuild/protobuf";
import { ReasonSchema } from "../../../proto/gen/sms/v1/common_pb.js";
import {
  type Charge,
  ChargeSchema,
  Encoding,
  MessageSource,
  MessageStatus,
  StatusChangeSchema,
  type Message as WireMessage,
} from "../../../proto/gen/sms/v1/messaging_pb.js";
import { idTimeMs } from "../../shared/core/ids.ts";
import type { MessageSourceName } from "../../shared/core/message-source.ts";
import type { MessageStatus as Status } from "../../shared/core/message-status.ts";
import { WIRE_MODE } from "../../shared/rpc/mode.ts";
import { WIRE_TRAFFIC_CLASS } from "../../shared/rpc/traffic-class.ts";
import type { Message } from "../domain/message.ts";
import { type MessageCharge, wasEverSent } from "../domain/message-invariants.ts";

/** The protocol's value of each status. */
export const WIRE_STATUS: Readonly<Record<Status, MessageStatus>> = {
  scheduled: MessageStatus.SCHEDULED,
  queued: MessageStatus.QUEUED,
  sent: MessageStatus.SENT,
  delivered: MessageStatus.DELIVERED,
  undelivered: MessageStatus.UNDELIVERED,
  expired: MessageStatus.EXPIRED,
  rejected: MessageStatus.REJECTED,
  failed: MessageStatus.FAILED,
  cancelled: MessageStatus.CANCELLED,
};

/** The protocol's value of each source. */
export const WIRE_SOURCE: Readonly<Record<MessageSourceName, MessageSource>> = {
  api: MessageSource.API,
  campaign: MessageSource.CAMPAIGN,
  quick_send: MessageSource.QUICK_SEND,
  test_send: MessageSource.TEST_SEND,
};

/** The protocol's value of each encoding. */
export const WIRE_ENCODING = { gsm7: Encoding.GSM7, ucs2: Encoding.UCS2 } as const;

/** Writes an instant; 0 stands for none. */
export function toWireTime(atMs: number | undefined): bigint {
  return atMs === undefined ? 0n : BigInt(atMs);
}

/**
 * Writes a message; its history, oldest first, goes only into `GetMessage` and events. An object literal, because
 * `create` sets the fields one after another, which takes ten times the memory.
 */
export function toWireMessage(message: Message, withHistory: boolean): WireMessage {
  const wasSent = message.sentAtMs !== undefined;
  const route = wasSent ? message.routes[message.routeAt] : undefined;
  const wire: WireMessage = {
    $typeName: "sms.v1.Message",
    id: message.id,
    tenantId: message.tenantId,
    mode: WIRE_MODE[message.mode],
    source: WIRE_SOURCE[message.source],
    campaignId: message.campaignId ?? "",
    status: WIRE_STATUS[message.status],
    to: message.to,
    from: message.from,
    body: message.body,
    encoding: WIRE_ENCODING[message.encoding],
    segments: message.segments,
    heldAmount: message.heldAmount,
    currency: message.currency,
    clientReference: message.clientReference ?? "",
    scheduledAtMs: toWireTime(message.scheduledAtMs),
    createdAtMs: BigInt(idTimeMs(message.id)),
    sentAtMs: toWireTime(message.sentAtMs),
    completedAtMs: toWireTime(message.completedAtMs),
    updatedAtMs: toWireTime(message.updatedAtMs),
    reservationId: message.reservationId ?? "",
    routeId: route?.routeId ?? "",
    connectorId: route?.connectorId ?? "",
    carrierCode: message.carrierCode ?? "",
    history: withHistory ? message.history.map(toWireChange) : [],
    trafficClass: WIRE_TRAFFIC_CLASS[message.trafficClass],
    claimedAtMs: toWireTime(message.claim?.atMs),
    isConsentReply: message.isConsentReply,
  };
  if (message.unitPrice !== undefined) wire.unitPrice = message.unitPrice;
  if (message.amount !== undefined) wire.amount = message.amount;
  if (message.error !== undefined) wire.error = reason(message.error);
  return wire;
}

/** Writes the charge of a message for reconciliation. */
export function toWireCharge(message: MessageCharge): Charge {
  const charge = create(ChargeSchema, {
    messageId: message.id,
    tenantId: message.tenantId,
    reservationId: message.reservationId ?? "",
    status: WIRE_STATUS[message.status],
    heldAmount: message.heldAmount,
    updatedAtMs: toWireTime(message.updatedAtMs),
    mode: WIRE_MODE[message.mode],
    wasSent: wasEverSent(message),
  });
  if (message.amount !== undefined) charge.amount = message.amount;
  return charge;
}

function toWireChange(change: Message["history"][number]): WireMessage["history"][number] {
  const wire = create(StatusChangeSchema, {
    status: WIRE_STATUS[change.status],
    occurredAtMs: BigInt(change.atMs),
  });
  if (change.error !== undefined) wire.error = reason(change.error);
  return wire;
}

function reason(error: NonNullable<Message["error"]>) {
  return create(ReasonSchema, { code: error.code, message: error.message });
}
