/** Documents of the wallet database and their mapping to the domain. int64 is `bigint` here. */

import {
  auditDocument,
  type AuditDocument as SharedAuditDocument,
} from "../../shared/io/audit-log.ts";
import type { Account, EntryKind } from "../domain/account.ts";
import type { CheckedReservation, CheckedSettlement } from "../domain/check-holds.ts";
import { type EntryBatch, type Movement, storedReference } from "../domain/entry.ts";
import type { AuditRecord } from "../domain/ledger-batch.ts";
import type { Reservation, ReservationState, Settlement } from "../domain/reservation.ts";
import type { Wallet } from "../domain/wallet.ts";

/** Collection `wallets`; `_id` is the tenant's id. */
export type WalletDocument = {
  _id: string;
  currency: string;
  balance: bigint;
  held: bigint;
  low_balance_threshold: bigint;
  frozen: boolean;
  low: boolean;
  version: number;
  sequence: number;
  last_hash: string;
  created_at: Date;
  updated_at: Date;
};

/** Collection `reservations`. */
export type ReservationDocument = {
  _id: string;
  tenant_id: string;
  amount: bigint;
  open_amount: bigint;
  fenced_amount: bigint;
  state: ReservationState;
  message_count: number;
  /** n-1: remove in 0.4.0. Version 0.2.0 writes no count; a reservation without one has zero. */
  settled_count?: number;
  first_message_id: string;
  last_message_id: string;
  /** Absent when the send is of no campaign. */
  campaign_id?: string;
  created_at: Date;
  /** Time of the sweeper's next check, if the reservation is still open then. */
  check_at: Date;
  checks: number;
};

/** Collection `settlements`; `_id` is the message's id. */
export type SettlementDocument = {
  _id: string;
  tenant_id: string;
  reservation_id: string;
  held_amount: bigint;
  captured_amount: bigint;
  settled_at: Date;
};

/** One movement inside a batch. Empty texts are left out. */
export type MovementDocument = {
  id: string;
  kind: EntryKind;
  amount: bigint;
  reservation_id?: string;
  message_id?: string;
  /** The idempotency reference of a funding or an adjustment, or the campaign of another movement. */
  reference?: string;
  reason?: string;
  actor?: string;
};

/** Collection `entries`: one document per batch of movements, never changed. */
export type BatchDocument = {
  _id: string;
  tenant_id: string;
  sequence: number;
  currency: string;
  created_at: Date;
  balance_after: bigint;
  held_after: bigint;
  totals: Record<Account, bigint>;
  kinds: EntryKind[];
  /** The idempotency references of its movements; absent when there are none. */
  references?: string[];
  /** The campaigns of its movements; absent when there are none. */
  campaign_ids?: string[];
  hash: string;
  movements: MovementDocument[];
};

/** Collection `audit`; `action` and `detail` are those of `ListAuditEntries`. */
export type AuditDocument = SharedAuditDocument & { action: string; detail: string };

export function toWallet(document: WalletDocument): Wallet {
  return {
    tenantId: document._id,
    currency: document.currency,
    balance: document.balance,
    held: document.held,
    lowBalanceThreshold: document.low_balance_threshold,
    frozen: document.frozen,
    low: document.low,
    // The driver reads numbers beyond 2^31 as bigint.
    version: Number(document.version),
    sequence: Number(document.sequence),
    lastHash: document.last_hash,
    createdAtMs: document.created_at.getTime(),
    updatedAtMs: document.updated_at.getTime(),
  };
}

export function fromWallet(wallet: Wallet): WalletDocument {
  return {
    _id: wallet.tenantId,
    currency: wallet.currency,
    balance: wallet.balance,
    held: wallet.held,
    low_balance_threshold: wallet.lowBalanceThreshold,
    frozen: wallet.frozen,
    low: wallet.low,
    version: wallet.version,
    sequence: wallet.sequence,
    last_hash: wallet.lastHash,
    created_at: new Date(wallet.createdAtMs),
    updated_at: new Date(wallet.updatedAtMs),
  };
}

/** The fields that the check reads. */
export function toCheckedReservation(document: ReservationDocument): CheckedReservation {
  return {
    id: document._id,
    tenantId: document.tenant_id,
    amount: document.amount,
    openAmount: document.open_amount,
    fencedAmount: document.fenced_amount,
    state: document.state,
    messageCount: document.message_count,
  };
}

export function toReservation(document: ReservationDocument): Reservation {
  return {
    ...toCheckedReservation(document),
    settledCount: document.settled_count ?? 0,
    firstMessageId: document.first_message_id,
    lastMessageId: document.last_message_id,
    campaignId: document.campaign_id ?? "",
    createdAtMs: document.created_at.getTime(),
  };
}

/** The document of a new reservation. The sweeper checks it at `checkAtMs`. */
export function fromReservation(reservation: Reservation, checkAtMs: number): ReservationDocument {
  return {
    _id: reservation.id,
    tenant_id: reservation.tenantId,
    amount: reservation.amount,
    open_amount: reservation.openAmount,
    fenced_amount: reservation.fencedAmount,
    state: reservation.state,
    message_count: reservation.messageCount,
    settled_count: reservation.settledCount,
    first_message_id: reservation.firstMessageId,
    last_message_id: reservation.lastMessageId,
    ...(reservation.campaignId === "" ? {} : { campaign_id: reservation.campaignId }),
    created_at: new Date(reservation.createdAtMs),
    check_at: new Date(checkAtMs),
    checks: 0,
  };
}

/** The fields that the check reads. */
export function toCheckedSettlement(document: SettlementDocument): CheckedSettlement {
  return {
    messageId: document._id,
    tenantId: document.tenant_id,
    reservationId: document.reservation_id,
    heldAmount: document.held_amount,
    capturedAmount: document.captured_amount,
  };
}

export function toSettlement(document: SettlementDocument): Settlement {
  return { ...toCheckedSettlement(document), settledAtMs: document.settled_at.getTime() };
}

export function fromSettlement(settlement: Settlement): SettlementDocument {
  return {
    _id: settlement.messageId,
    tenant_id: settlement.tenantId,
    reservation_id: settlement.reservationId,
    held_amount: settlement.heldAmount,
    captured_amount: settlement.capturedAmount,
    settled_at: new Date(settlement.settledAtMs),
  };
}

export function toBatch(document: BatchDocument): EntryBatch {
  return {
    tenantId: document.tenant_id,
    currency: document.currency,
    sequence: Number(document.sequence),
    createdAtMs: document.created_at.getTime(),
    balanceAfter: document.balance_after,
    heldAfter: document.held_after,
    movements: document.movements.map(toMovement),
    totals: document.totals,
    hash: document.hash,
  };
}

export function fromBatch(batch: EntryBatch): BatchDocument {
  const references = batch.movements.map(({ reference }) => reference).filter(isText);
  const campaignIds = new Set(batch.movements.map(({ campaignId }) => campaignId).filter(isText));
  return {
    _id: batch.movements[0]?.id ?? "",
    tenant_id: batch.tenantId,
    sequence: batch.sequence,
    currency: batch.currency,
    created_at: new Date(batch.createdAtMs),
    balance_after: batch.balanceAfter,
    held_after: batch.heldAfter,
    totals: batch.totals,
    kinds: [...new Set(batch.movements.map(({ kind }) => kind))],
    ...(references.length === 0 ? {} : { references }),
    ...(campaignIds.size === 0 ? {} : { campaign_ids: [...campaignIds] }),
    hash: batch.hash,
    movements: batch.movements.map(fromMovement),
  };
}

function isText(text: string): boolean {
  return text !== "";
}

function toMovement(document: MovementDocument): Movement {
  const { kind, reference = "" } = document;
  const isReferenced = kind === "fund" || kind === "adjust";
  return {
    id: document.id,
    kind,
    amount: document.amount,
    reservationId: document.reservation_id ?? "",
    messageId: document.message_id ?? "",
    campaignId: isReferenced ? "" : reference,
    reference: isReferenced ? reference : "",
    reason: document.reason ?? "",
    actor: document.actor ?? "",
  };
}

function fromMovement(movement: Movement): MovementDocument {
  const document: MovementDocument = {
    id: movement.id,
    kind: movement.kind,
    amount: movement.amount,
  };
  if (movement.reservationId !== "") document.reservation_id = movement.reservationId;
  if (movement.messageId !== "") document.message_id = movement.messageId;
  const reference = storedReference(movement);
  if (reference !== "") document.reference = reference;
  if (movement.reason !== "") document.reason = movement.reason;
  if (movement.actor !== "") document.actor = movement.actor;
  return document;
}

export function toAudit(document: AuditDocument): AuditRecord {
  return {
    id: document._id,
    tenantId: document.tenant_id,
    action: document.action,
    actor: document.actor ?? { name: `service:${document.caller}`, address: "" },
    detail: document.detail,
    createdAtMs: document.created_at.getTime(),
  };
}

export function fromAudit(record: AuditRecord, keepMs: number): AuditDocument {
  const { tenantId, actor, before, after, action, detail } = record;
  const { name, address, source = { method: "unknown", caller: "unknown", requestId: "" } } = actor;
  const document = auditDocument(
    { tenantId, subject: tenantId, before, after },
    { actor: { name, address }, ...source },
    { id: record.id, nowMs: record.createdAtMs, keepMs },
  );
  return { ...document, action, detail };
}
