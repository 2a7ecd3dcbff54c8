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

/** Public names of statuses, by protobuf number. */
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

/** Public names of sources, by protobuf number. */
export const SOURCE_NAMES: Readonly<Record<MessageSource, string>> = {
  [MessageSource.UNSPECIFIED]: "",
  [MessageSource.API]: "api",
  [MessageSource.CAMPAIGN]: "campaign",
  [MessageSource.QUICK_SEND]: "quick_send",
  [MessageSource.TEST_SEND]: "test_send",
};

/** Protobuf numbers of statuses, by public name. */
export const STATUS_NUMBERS = invert(STATUS_NAMES) as Readonly<
  Record<(typeof MESSAGE_STATUSES)[number], MessageStatus>
>;

/** Protobuf numbers of sources, by public name. */
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

/** Renders a message, its members in the order of the contract (`docs/contract.md#messages`). */
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

/** Renders a message with its `status_history`, oldest first. */
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

/** Renders a failure reason, or null. */
export function renderReason(
  reason: { readonly code: string; readonly message: string } | undefined,
): { code: string; message: string } | null {
  return reason === undefined ? null : { code: reason.code, message: reason.message };
}

/** Converts the empty string of protobuf to null. */
export function textOrNull(text: string): string | null {
  return text === "" ? null : text;
}

/** Converts the zero time of protobuf to null. */
export function instantOrNull(ms: bigint): string | null {
  return ms === 0n ? null : formatInstant(Number(ms));
}
