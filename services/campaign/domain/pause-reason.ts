/** The refusals of a chunk that pause its campaign. Other reasons: the customer, and the budget (`app/chunks.ts`). */
import type { ErrorCode } from "../../shared/core/errors.ts";
import type { PauseReason } from "./campaign.ts";

const REASONS: Readonly<Partial<Record<ErrorCode, PauseReason>>> = {
  insufficient_balance: "insufficient_balance",
  sender_id_not_approved: "sender_id_not_approved",
  tenant_suspended: "tenant_suspended",
  email_not_verified: "tenant_suspended",
  not_found: "tenant_suspended",
};

/** The reason to pause after messaging refused a chunk with this code; undefined when the campaign goes on. */
export function pauseReasonOf(code: ErrorCode): PauseReason | undefined {
  return REASONS[code];
}
