import type { Message } from "../../proto/gen/sms/v1/messaging_pb.js";
import type { Delivery } from "../../proto/gen/sms/v1/webhook_pb.js";
import { formatAmount } from "../../services/shared/core/money.ts";
import { formatInstant } from "../../services/shared/core/rfc3339.ts";
import { renderReason, STATUS_NAMES, textOrNull } from "./message.ts";
import { publicError } from "./webhooks.ts";

type Entry = { readonly atMs: number; readonly shown: Readonly<Record<string, unknown>> };

/** Renders what happened to a message: statuses, money and webhooks in one line of time, oldest first. */
export function renderTimeline(message: Message, deliveries: readonly Delivery[]) {
  const entries = [
    ...statusEntries(message),
    ...moneyEntries(message),
    ...deliveries.flatMap(deliveryEntries),
  ];
  // Entries of one instant stay in this order: a status before its charge and its webhooks.
  entries.sort((a, b) => a.atMs - b.atMs);
  return {
    object: "message_timeline",
    message_id: message.id,
    entries: entries.map(({ atMs, shown }) => ({ at: formatInstant(atMs), ...shown })),
  };
}

function statusEntries({ history }: Message): Entry[] {
  return history.map(({ status, occurredAtMs, error }) => ({
    atMs: Number(occurredAtMs),
    shown: { type: "status", status: STATUS_NAMES[status], error: renderReason(error) },
  }));
}

/** Holds, charges and releases, taken from the message's own fields; the wallet follows within a minute. */
function moneyEntries(message: Message): Entry[] {
  const { heldAmount, amount, currency, sentAtMs, createdAtMs, completedAtMs } = message;
  if (heldAmount === 0n) return [];
  const money = (type: string, atMs: bigint, value: bigint): Entry => ({
    atMs: Number(atMs),
    shown: { type, amount: formatAmount(value), currency },
  });
  const entries = [money("hold", createdAtMs, heldAmount)];
  if (amount !== undefined) entries.push(money("charge", sentAtMs, amount));
  const rest = heldAmount - (amount ?? 0n);
  const endMs = amount === undefined ? completedAtMs : sentAtMs;
  if (rest > 0n && endMs !== 0n) entries.push(money("release", endMs, rest));
  return entries;
}

function deliveryEntries(delivery: Delivery): Entry[] {
  const shared = {
    endpoint_id: delivery.endpointId,
    delivery_id: delivery.id,
    event_type: delivery.eventType,
  };
  const entries = delivery.attempts.map((attempt) => ({
    atMs: Number(attempt.startedAtMs),
    shown: {
      type: "webhook_attempt",
      ...shared,
      attempt: attempt.number,
      duration_ms: attempt.durationMs,
      http_status: attempt.httpStatus === 0 ? null : attempt.httpStatus,
      failure: textOrNull(publicError(attempt.error)),
    },
  }));
  if (delivery.nextAttemptAtMs === 0n) return entries;
  const due = { atMs: Number(delivery.nextAttemptAtMs), shown: { type: "webhook_due", ...shared } };
  return [...entries, due];
}
