/** The right of a tenant to send, at the request and after a message has waited. Reading is never restricted. */
import { AppError } from "../../shared/core/errors.ts";
import type { ReasonCode } from "./failure-reasons.ts";

/** Throws `email_not_verified` or `tenant_suspended` when the tenant may send nothing now. */
export function checkMaySend(tenant: {
  readonly emailVerified: boolean;
  readonly suspended: boolean;
}): void {
  if (!tenant.emailVerified) {
    throw new AppError("email_not_verified", "Verify the account's email before sending.");
  }
  if (tenant.suspended) {
    throw new AppError("tenant_suspended", "The account is suspended; sending is paused.");
  }
}

/** The conditions on tenant, sender ID and recipient when a message that has waited is to be sent. */
export type SendingRights = {
  readonly tenantMaySend: boolean;
  readonly senderIsUsable: boolean;
  /** False when the recipient has opted out. */
  readonly recipientAllows: boolean;
};

/** Why a message may not be sent now; undefined when it may. */
export function missingRight(rights: SendingRights): ReasonCode | undefined {
  if (!rights.tenantMaySend) return "tenant_suspended";
  if (!rights.senderIsUsable) return "sender_id_not_approved";
  return rights.recipientAllows ? undefined : "recipient_opted_out";
}
