import { Mode } from "../../proto/gen/sms/v1/common_pb.js";
import {
  Encoding,
  type Message,
  MessageSource,
  MessageStatus,
  type StatusChange,
} from "../../proto/gen/sms/v1/messaging_pb.js";
import type { MESSAGE_SOURCES } from "../../services/shared/core/message-source.ts";
import type { MESSAGE_STATUSES } from "../../services/shared/core/message-status.ts";
import { formatAmount } from "../../services/shared/core/money.ts";
import { formatInstant } from "../../services/shared/core/rfc3339.ts";

/** Statuses as customers spell them, by protobuf number. */
export const STATUS_NAMES: Readonly<Record<MessageStatus, string>> = {
  [MessageStatus.UNSPECIFIED]: "",
  [MessageStatus.SCHEDULED]: "scheduled",
  [MessageStatus.QUEUED]: "queued",
  [MessageStatus.SENT]: "sent",
  [MessageStatus.DELIVERED]: "delivered",
  [MessageStatus.UNDELIVERED]: "undelivered",
  [MessageStatus.EXPIRED]: "expired",
  [MessageStatus.REJECTED]: "rejected",
  [MessageStatus.FAILED]: "failed",
  [MessageStatus.CANCELLED]: "cancelled",
};

/** Sources as customers spell them. */
export const SOURCE_NAMES: Readonly<Record<MessageSource, string>> = {
  [MessageSource.UNSPECIFIED]: "",
  [MessageSource.API]: "api",
  [MessageSource.CAMPAIGN]: "campaign",
  [MessageSource.QUICK_SEND]: "quick_send",
  [MessageSource.TEST_SEND]: "test_send",
};

/** Statuses by their name. */
export const STATUS_NUMBERS = invert(STATUS_NAMES) as Readonly<
  Record<(typeof MESSAGE_STATUSES)[number], MessageStatus>
>;

/** Sources by their name. */
export const SOURCE_NUMBERS = invert(SOURCE_NAMES) as Readonly<
  Record<(typeof MESSAGE_SOURCES)[number], MessageSource>
>;

function invert(names: Readonly<Record<number, string>>): Record<string, number> {
  return Object.fromEntries(Object.entries(names).map(([value, name]) => [name, Number(value)]));
}

/** `live` or `test`. */
export function modeName(mode: Mode): "live" | "test" {
  return mode === Mode.TEST ? "test" : "live";
}

/** A `Message` resource (`service.md` "Message"), its members in the order of the contract. */
export function renderMessage(message: Message) {
  return {
    id: message.id,
    object: "message",
    mode: modeName(message.mode),
    channel: "sms",
    direction: "outbound",
    status: STATUS_NAMES[message.status],
    to: message.to,
    from: message.from,
    body: message.body,
    encoding: message.encoding === Encoding.UCS2 ? "ucs2" : "gsm7",
    segments: message.segments,
    held_amount: formatAmount(message.heldAmount),
    unit_price: message.unitPrice === undefined ? null : formatAmount(message.unitPrice),
    amount: message.amount === undefined ? null : formatAmount(message.amount),
    currency: message.currency,
    client_reference: textOrNull(message.clientReference),
    campaign_id: textOrNull(message.campaignId),
    source: SOURCE_NAMES[message.source],
    error: renderReason(message.error),
    scheduled_at: instantOrNull(message.scheduledAtMs),
    created_at: formatInstant(Number(message.createdAtMs)),
    sent_at: instantOrNull(message.sentAtMs),
    completed_at: instantOrNull(message.completedAtMs),
    updated_at: formatInstant(Number(message.updatedAtMs)),
  };
}

/** The message with its `status_history`, oldest first. */
export function renderMessageWithHistory(message: Message) {
  return { ...renderMessage(message), status_history: message.history.map(renderChange) };
}

function renderChange(change: StatusChange) {
  return {
    status: STATUS_NAMES[change.status],
    occurred_at: formatInstant(Number(change.occurredAtMs)),
    error: renderReason(change.error),
  };
}

/** An error object, or null. */
export function renderReason(
  reason: { readonly code: string; readonly message: string } | undefined,
): { code: string; message: string } | null {
  return reason === undefined ? null : { code: reason.code, message: reason.message };
}

/** Protobuf's empty text as null. */
export function textOrNull(text: string): string | null {
  return text === "" ? null : text;
}

/** Protobuf's zero instant as null. */
export function instantOrNull(ms: bigint): string | null {
  return ms === 0n ? null : formatInstant(Number(ms));
}
