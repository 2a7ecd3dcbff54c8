/**
 * Which messages can be cancelled: those that are `scheduled`, and those that are `queued` and
 * still waiting, in a queue or for the end of quiet hours. One that is being sent, sent or in a final status cannot.
 */
import { AppError } from "../../shared/core/errors.ts";
import { type Decision, isCampaignMessage, type Message, moveTo, unchanged } from "./message.ts";

/** True if the message can be cancelled now. */
function isCancellable(message: Message): boolean {
  if (message.status === "scheduled") return true;
  const { status, phase } = message;
  return status === "queued" && (phase === "waiting" || phase === "quiet");
}

/**
 * Cancels one message for its owner. A cancelled message stays as it is. A campaign's message can only be cancelled
 * with its campaign. Throws `invalid_state_transition`.
 */
export function cancelMessage(message: Message, nowMs: number): Decision {
  if (message.status === "cancelled") return unchanged(message);
  if (isCampaignMessage(message)) {
    throw new AppError(
      "invalid_state_transition",
      "A campaign's message is cancelled with its campaign.",
    );
  }
  if (!isCancellable(message)) {
    const state = message.status === "queued" ? "being sent" : message.status;
    throw new AppError(
      "invalid_state_transition",
      `The message is ${state} and can no longer be cancelled.`,
    );
  }
  return moveTo(unchanged(message), "cancelled", nowMs, "cancelled");
}

/** Cancels a message with a `campaign_id`, from any source, if it is cancellable; else returns it unchanged. */
export function cancelWithCampaign(message: Message, nowMs: number): Decision {
  if (message.campaignId === undefined || !isCancellable(message)) return unchanged(message);
  return moveTo(unchanged(message), "cancelled", nowMs, "cancelled");
}
