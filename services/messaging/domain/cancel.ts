/**
 * Which messages can be cancelled: those that are `scheduled`, and those that are `queued` and
 * still waiting. One that is being sent, sent or in a final status cannot.
 */
import { AppError } from "../../shared/core/errors.ts";
import { type Decision, isCampaignMessage, type Message, moveTo, unchanged } from "./message.ts";

/** Tells whether a cancel would win now. */
export function isCancellable(message: Message): boolean {
  if (message.status === "scheduled") return true;
  return message.status === "queued" && message.phase === "waiting";
}

/**
 * Cancels one message on its owner's request. A message already cancelled, by whatever, stays as it is;
 * otherwise a campaign's message goes with its campaign. Throws `invalid_state_transition`.
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

/** Cancels a message that names a campaign, whatever sent it, if that is still possible; leaves every other alone. */
export function cancelWithCampaign(message: Message, nowMs: number): Decision {
  if (message.campaignId === undefined || !isCancellable(message)) return unchanged(message);
  return moveTo(unchanged(message), "cancelled", nowMs, "cancelled");
}
