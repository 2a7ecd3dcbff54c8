import type { SendEntry, SendMessagesResponse } from "../../proto/gen/sms/v1/messaging_pb.js";
import { formatAmount } from "../../services/shared/core/money.ts";
import { modeName, renderReason, STATUS_NAMES, textOrNull } from "./message.ts";

/** Renders the result of a bulk or batch send (`docs/contract.md#sends`). */
export function renderSendResult(response: SendMessagesResponse) {
  return {
    object: "send_result",
    requested: response.requested,
    accepted: response.accepted,
    rejected: response.rejected,
    segments: response.segments,
    held_amount: formatAmount(response.heldAmount),
    currency: response.currency,
    mode: modeName(response.mode),
    reservation_id: response.reservationId,
    messages: response.entries.map(renderEntry),
  };
}

function renderEntry(entry: SendEntry) {
  return {
    id: entry.id,
    index: entry.index,
    input: entry.input,
    to: entry.to,
    status: STATUS_NAMES[entry.status],
    segments: entry.segments,
    held_amount: formatAmount(entry.heldAmount),
    client_reference: textOrNull(entry.clientReference),
    error: renderReason(entry.error),
  };
}
