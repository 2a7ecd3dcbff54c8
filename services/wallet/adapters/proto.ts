/** Maps the wallet's domain to protobuf messages. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Actor as ActorMessage } from "../../../proto/gen/sms/v1/common_pb.js";
import {
  type AuditEntrySchema,
  EntryKind as EntryKindNumber,
  type EntrySchema,
  type ReservationSchema,
  ReservationState as ReservationStateNumber,
  type SettlementSchema,
  type WalletSchema,
} from "../../../proto/gen/sms/v1/wallet_pb.js";
import type { DeadLetterSchema } from "../../../proto/gen/sms/v1/webhook_pb.js";
import { AppError } from "../../shared/core/errors.ts";
import { auditSource } from "../../shared/io/audit-log.ts";
import type { DeadLetter } from "../../shared/io/dead-letters.ts";
import { type EntryKind, postingsOf } from "../domain/account.ts";
import type { Actor } from "../domain/command.ts";
import type { Entry } from "../domain/entry.ts";
import type { AuditRecord } from "../domain/ledger-batch.ts";
import type { Reservation, Settlement } from "../domain/reservation.ts";
import { availableOf, type Wallet } from "../domain/wallet.ts";

const KIND_NUMBERS: Readonly<Record<EntryKind, EntryKindNumber>> = {
  fund: EntryKindNumber.FUND,
  adjust: EntryKindNumber.ADJUST,
  hold: EntryKindNumber.HOLD,
  capture: EntryKindNumber.CAPTURE,
  release: EntryKindNumber.RELEASE,
};

const KINDS = new Map(
  Object.entries(KIND_NUMBERS).map(([kind, number]) => [number, kind as EntryKind]),
);

export function walletToProto(
  wallet: Wallet,
  asOfMs: number,
): MessageInitShape<typeof WalletSchema> {
  return {
    tenantId: wallet.tenantId,
    currency: wallet.currency,
    balance: wallet.balance,
    held: wallet.held,
    available: availableOf(wallet),
    lowBalanceThreshold: wallet.lowBalanceThreshold,
    frozen: wallet.frozen,
    asOfMs: BigInt(asOfMs),
  };
}

export function entryToProto(entry: Entry): MessageInitShape<typeof EntrySchema> {
  return {
    id: entry.id,
    tenantId: entry.tenantId,
    currency: entry.currency,
    kind: KIND_NUMBERS[entry.kind],
    postings: [...postingsOf(entry.kind, entry.amount)],
    reference: entry.reference,
    reservationId: entry.reservationId,
    messageId: entry.messageId,
    campaignId: entry.campaignId,
    reason: entry.reason,
    actor: entry.actor,
    balanceAfter: entry.balanceAfter,
    heldAfter: entry.heldAfter,
    createdAtMs: BigInt(entry.createdAtMs),
  };
}

/** The requested kinds of entry; an unknown number is `validation_error`. */
export function kindsFromProto(numbers: readonly EntryKindNumber[]): EntryKind[] {
  const kinds = numbers.map((number, at) => {
    const kind = KINDS.get(number);
    if (kind !== undefined) return kind;
    throw new AppError("validation_error", "The request is not valid.", {
      fields: [{ field: `kinds[${at}]`, code: "invalid_value", message: "is no kind of entry" }],
    });
  });
  return [...new Set(kinds)];
}

export function reservationToProto(
  reservation: Reservation,
): MessageInitShape<typeof ReservationSchema> {
  return {
    id: reservation.id,
    tenantId: reservation.tenantId,
    amount: reservation.amount,
    openAmount: reservation.openAmount,
    messageCount: reservation.messageCount,
    state:
      reservation.state === "open" ? ReservationStateNumber.OPEN : ReservationStateNumber.CLOSED,
    createdAtMs: BigInt(reservation.createdAtMs),
  };
}

export function settlementToProto(
  settlement: Settlement,
): MessageInitShape<typeof SettlementSchema> {
  return { ...settlement, settledAtMs: BigInt(settlement.settledAtMs) };
}

export function auditToProto(record: AuditRecord): MessageInitShape<typeof AuditEntrySchema> {
  return { ...record, createdAtMs: BigInt(record.createdAtMs) };
}

export function deadLetterToProto(letter: DeadLetter): MessageInitShape<typeof DeadLetterSchema> {
  const { id, subject, reason, createdAtMs } = letter;
  return { id, subject, reason, createdAtMs: BigInt(createdAtMs) };
}

/** The actor that the request names, or else the authenticated service that called. */
export function actorOf(actor: ActorMessage | undefined): Actor {
  const source = auditSource();
  const named = actor !== undefined && actor.name !== "" ? actor : source.actor;
  const { name, address } = named ?? {
    name: `service:${source.caller}`,
    address: actor?.address ?? "",
  };
  const claimed = named === undefined ? undefined : { name, address };
  return { name, address, source: { ...source, actor: claimed } };
}
