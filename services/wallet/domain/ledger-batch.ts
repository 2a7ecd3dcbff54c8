/**
 * The working state of one batch of commands: the loaded view, the state after each decided
 * command, and the changes to save. Nothing is written until the whole batch is decided.
 */
import type { EntryKind } from "./account.ts";
import type { Actor } from "./command.ts";
import { type Entry, type EntryBatch, effectOf, type Movement, nextBatch } from "./entry.ts";
import type { Reservation, Settlement } from "./reservation.ts";
import { isBelowThreshold, type Wallet } from "./wallet.ts";

/** The state that was loaded for a batch of commands. */
export type View = {
  readonly wallet: Wallet;
  /** The requested reservations that exist, of any tenant, by id. */
  readonly reservations: ReadonlyMap<string, Reservation>;
  /** The requested settlements that exist, by message id. */
  readonly settlements: ReadonlyMap<string, Settlement>;
  /** Earlier fundings and adjustments, by reference. */
  readonly references: ReadonlyMap<string, Entry>;
};

/** The time and the ids a decision may use. */
export type DecideContext = {
  readonly nowMs: number;
  readonly newId: (kind: "entry" | "audit" | "event") => string;
};

/** An operator's action, for the audit trail. */
export type AuditRecord = {
  readonly id: string;
  readonly tenantId: string;
  readonly action: string;
  readonly actor: Actor;
  /** The change as JSON text. */
  readonly detail: string;
  readonly before?: object;
  readonly after?: object;
  readonly createdAtMs: number;
};

/** An event about a wallet. */
export type WalletEvent = {
  readonly id: string;
  readonly type: "funded" | "low_balance";
  readonly wallet: Wallet;
  /** The funded amount; 0 for `low_balance`. */
  readonly amount: bigint;
  readonly reference: string;
  readonly occurredAtMs: number;
};

/** The changes of one batch, to write in one transaction. */
export type Changes = {
  /** Time of the decision by the clock. The ledger's time may be later. */
  readonly decidedAtMs: number;
  readonly wallet: Wallet;
  readonly batch: EntryBatch | undefined;
  readonly newReservations: readonly Reservation[];
  readonly changedReservations: readonly Reservation[];
  readonly settlements: readonly Settlement[];
  readonly audit: readonly AuditRecord[];
  readonly events: readonly WalletEvent[];
};

/** The mutable state of a batch. Unchanged records are only in the view. */
export type LedgerBatch = {
  readonly context: DecideContext;
  readonly decidedAtMs: number;
  readonly view: View;
  wallet: Wallet;
  readonly newReservations: Map<string, Reservation>;
  readonly changedReservations: Map<string, Reservation>;
  readonly newSettlements: Map<string, Settlement>;
  readonly newReferences: Map<string, Entry>;
  readonly movements: Movement[];
  readonly audit: AuditRecord[];
  readonly events: WalletEvent[];
};

/** Begins a batch on a loaded view. */
export function beginBatch(view: View, context: DecideContext): LedgerBatch {
  // A replica whose clock is behind must not date a batch earlier than the previous batch.
  const nowMs = Math.max(context.nowMs, view.wallet.updatedAtMs);
  return {
    context: { ...context, nowMs },
    decidedAtMs: context.nowMs,
    view,
    wallet: view.wallet,
    newReservations: new Map(),
    changedReservations: new Map(),
    newSettlements: new Map(),
    newReferences: new Map(),
    movements: [],
    audit: [],
    events: [],
  };
}

/** The current state of a reservation of any tenant; undefined when it does not exist. */
export function findReservation(ledger: LedgerBatch, id: string): Reservation | undefined {
  return (
    ledger.newReservations.get(id) ??
    ledger.changedReservations.get(id) ??
    ledger.view.reservations.get(id)
  );
}

/** Replaces a reservation by its next state. */
export function replaceReservation(ledger: LedgerBatch, reservation: Reservation): void {
  // A reservation that is new in this batch is inserted in its latest state.
  const isNew = ledger.newReservations.has(reservation.id);
  (isNew ? ledger.newReservations : ledger.changedReservations).set(reservation.id, reservation);
}

/** The free texts of a movement. */
export type MovementDetail = Partial<
  Pick<Movement, "reservationId" | "messageId" | "campaignId" | "reference" | "reason" | "actor">
>;

/** Moves money: changes the wallet's figures and adds the movement. */
export function post(
  ledger: LedgerBatch,
  kind: EntryKind,
  amount: bigint,
  detail: MovementDetail,
): Movement {
  const movement: Movement = {
    id: ledger.context.newId("entry"),
    kind,
    amount,
    reservationId: detail.reservationId ?? "",
    messageId: detail.messageId ?? "",
    campaignId: detail.campaignId ?? "",
    reference: detail.reference ?? "",
    reason: detail.reason ?? "",
    actor: detail.actor ?? "",
  };
  const effect = effectOf(kind, amount);
  const balance = ledger.wallet.balance + effect.balance;
  const held = ledger.wallet.held + effect.held;
  ledger.wallet = { ...ledger.wallet, balance, held };
  ledger.movements.push(movement);
  return movement;
}

/** The statement entry of the movement that was just posted. */
export function lastEntry(ledger: LedgerBatch, movement: Movement): Entry {
  return {
    ...movement,
    tenantId: ledger.wallet.tenantId,
    currency: ledger.wallet.currency,
    sequence: ledger.view.wallet.sequence + 1,
    position: ledger.movements.length - 1,
    balanceAfter: ledger.wallet.balance,
    heldAfter: ledger.wallet.held,
    createdAtMs: ledger.context.nowMs,
  };
}

/**
 * Sets or clears the low mark. Each downward crossing of the threshold adds one event. The mark is
 * cleared, and so re-armed, when available is at or above the threshold again.
 */
export function markLow(ledger: LedgerBatch): void {
  const { wallet } = ledger;
  const low = isBelowThreshold(wallet);
  if (low === wallet.low) return;
  ledger.wallet = { ...wallet, low };
  if (low) addEvent(ledger, "low_balance", 0n, "");
}

/** Adds an event with the wallet's current state. */
export function addEvent(
  ledger: LedgerBatch,
  type: WalletEvent["type"],
  amount: bigint,
  reference: string,
): void {
  const { context, wallet } = ledger;
  const id = context.newId("event");
  ledger.events.push({ id, type, wallet, amount, reference, occurredAtMs: context.nowMs });
}

/** Adds an operator's action to the audit trail. `change` must be plain JSON. */
export function addAudit(
  ledger: LedgerBatch,
  action: string,
  actor: Actor,
  change: Readonly<Record<string, string | boolean>>,
  before: object,
  after: object,
): void {
  ledger.audit.push({
    before,
    after,
    id: ledger.context.newId("audit"),
    tenantId: ledger.wallet.tenantId,
    action,
    actor,
    detail: JSON.stringify(change),
    createdAtMs: ledger.context.nowMs,
  });
}

/** Ends the batch. Returns the changes to save, or undefined when nothing changed. */
export function finishBatch(ledger: LedgerBatch): Changes | undefined {
  const { context, movements, audit } = ledger;
  const before = ledger.view.wallet;
  if (movements.length === 0 && audit.length === 0 && ledger.newSettlements.size === 0) {
    return undefined;
  }
  const batch =
    movements.length === 0 ? undefined : nextBatch(before, ledger.wallet, movements, context.nowMs);
  const wallet: Wallet = {
    ...ledger.wallet,
    version: before.version + 1,
    sequence: batch?.sequence ?? before.sequence,
    lastHash: batch?.hash ?? before.lastHash,
    updatedAtMs: context.nowMs,
  };
  return {
    decidedAtMs: ledger.decidedAtMs,
    wallet,
    batch,
    newReservations: [...ledger.newReservations.values()],
    changedReservations: [...ledger.changedReservations.values()],
    settlements: [...ledger.newSettlements.values()],
    audit,
    events: ledger.events,
  };
}
