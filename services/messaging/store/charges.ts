/** The money of a message: the few fields that reads of very many messages ask for. */
import type { MessageCharge } from "../domain/message-invariants.ts";
import { type MessageDocument, toAmount } from "./documents.ts";

/** The fields of a message's money. */
export const MONEY = { status: 1, reservation_id: 1, held: 1, amount: 1 } as const;
/** The fields of a charge. */
export const OF_CHARGES = { ...MONEY, tenant_id: 1, mode: 1, updated_at: 1 } as const;

/** The projected fields of a stored message. */
export type Stored<P> = Pick<MessageDocument, "_id" | (keyof P & keyof MessageDocument)>;

export function toCharge(document: Stored<typeof OF_CHARGES>): MessageCharge {
  return {
    id: document._id,
    ...moneyOf(document),
    tenantId: document.tenant_id,
    mode: document.mode,
    updatedAtMs: document.updated_at.getTime(),
  };
}

export function moneyOf({ status, reservation_id, held, amount }: Stored<typeof MONEY>) {
  return {
    status,
    reservationId: reservation_id,
    heldAmount: toAmount(held),
    amount: amount === undefined ? undefined : toAmount(amount),
  };
}
