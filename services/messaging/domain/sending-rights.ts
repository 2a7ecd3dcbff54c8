import type { ReasonCode } from "./failure-reasons.ts";

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
