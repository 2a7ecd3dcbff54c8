/**
 * The working state of one batch of commands: what was loaded, changed as the commands are decided
 * one after the other, and what has to be saved. Nothing outside is touched until the whole batch
 * is decided.
 */
import type { EntryKind } from "./account.ts";
import type { Actor } from "./command.ts";
import { type Entry, type EntryBatch, effectOf, type Movement, nextBatch } from "./entry.ts";
import type { Reservation, Settlement } from "./reservation.ts";
import { availableOf, type Wallet } from "./wallet.ts";

/** What was loaded for a batch of commands. */
export type View = {
  readonly wallet: Wallet;
  /** Of those asked for, the ones that exist (of any tenant), by id. */
  readonly reservations: ReadonlyMap<string, Reservation>;
  /** By message id. */
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
  readonly createdAtMs: number;
};

/** Something others are told about a wallet. */
export type WalletEvent = {
  readonly id: string;
  readonly type: "funded" | "low_balance";
  readonly wallet: Wallet;
  /** The money that came in; 0 for `low_balance`. */
  readonly amount: bigint;
  readonly reference: string;
  readonly occurredAtMs: number;
};

/** What one transaction has to write. */
export type Changes = {
  /** The clock's time of the decision, which may be earlier than the ledger's. */
  readonly decidedAtMs: number;
  readonly wallet: Wallet;
  readonly batch: EntryBatch | undefined;
  readonly newReservations: readonly Reservation[];
  readonly changedReservations: readonly Reservation[];
  readonly settlements: readonly Settlement[];
  readonly audit: readonly AuditRecord[];
  readonly events: readonly WalletEvent[];
};

/** The mutable side of a batch of commands; what it has not touched is still in the view. */
export type Book = {
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

/** Opens a book over what was loaded. */
export function beginBatch(view: View, context: DecideContext): Book {
  // A replica whose clock is behind must not date a batch before the one it follows.
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

/** A reservation as it is by now, of whichever tenant; undefined when it was not found. */
export function findReservation(book: Book, id: string): Reservation | undefined {
  return (
    book.newReservations.get(id) ??
    book.changedReservations.get(id) ??
    book.view.reservations.get(id)
  );
}

/** Puts a changed reservation in the place of the one that was there. */
export function replaceReservation(book: Book, reservation: Reservation): void {
  // One that is new in this very batch is inserted in its latest shape.
  const isNew = book.newReservations.has(reservation.id);
  (isNew ? book.newReservations : book.changedReservations).set(reservation.id, reservation);
}

/** The free texts of a movement. */
export type MovementDetail = Partial<
  Pick<Movement, "reservationId" | "messageId" | "reference" | "reason" | "actor">
>;

/** Moves money: changes the wallet's figures and adds the entry. */
export function post(
  book: Book,
  kind: EntryKind,
  amount: bigint,
  detail: MovementDetail,
): Movement {
  const movement: Movement = {
    id: book.context.newId("entry"),
    kind,
    amount,
    reservationId: detail.reservationId ?? "",
    messageId: detail.messageId ?? "",
    reference: detail.reference ?? "",
    reason: detail.reason ?? "",
    actor: detail.actor ?? "",
  };
  const effect = effectOf(kind, amount);
  const balance = book.wallet.balance + effect.balance;
  const held = book.wallet.held + effect.held;
  book.wallet = { ...book.wallet, balance, held };
  book.movements.push(movement);
  return movement;
}

/** The statement line of the movement just posted. */
export function lastEntry(book: Book, movement: Movement): Entry {
  return {
    ...movement,
    tenantId: book.wallet.tenantId,
    currency: book.wallet.currency,
    sequence: book.view.wallet.sequence + 1,
    position: book.movements.length - 1,
    balanceAfter: book.wallet.balance,
    heldAfter: book.wallet.held,
    createdAtMs: book.context.nowMs,
  };
}

/**
 * Sets or clears the low mark. An event is made once per downward crossing; the mark is cleared,
 * and so re-armed, as soon as available is back at or above the threshold.
 */
export function markLow(book: Book): void {
  const { wallet } = book;
  const low = availableOf(wallet) < wallet.lowBalanceThreshold;
  if (low === wallet.low) return;
  book.wallet = { ...wallet, low };
  if (low) addEvent(book, "low_balance", 0n, "");
}

/** Notes an event about the wallet as it is now. */
export function addEvent(
  book: Book,
  type: WalletEvent["type"],
  amount: bigint,
  reference: string,
): void {
  const { context, wallet } = book;
  const id = context.newId("event");
  book.events.push({ id, type, wallet, amount, reference, occurredAtMs: context.nowMs });
}

/** Notes an operator's action. `change` must be plain JSON. */
export function addAudit(
  book: Book,
  action: string,
  actor: Actor,
  change: Readonly<Record<string, string | boolean>>,
): void {
  book.audit.push({
    id: book.context.newId("audit"),
    tenantId: book.wallet.tenantId,
    action,
    actor,
    detail: JSON.stringify(change),
    createdAtMs: book.context.nowMs,
  });
}

/** Closes the book: what has to be saved, or undefined when nothing changed. */
export function finishBatch(book: Book): Changes | undefined {
  const { context, movements, audit } = book;
  const before = book.view.wallet;
  if (movements.length === 0 && audit.length === 0 && book.newSettlements.size === 0) {
    return undefined;
  }
  const batch =
    movements.length === 0 ? undefined : nextBatch(before, book.wallet, movements, context.nowMs);
  const wallet: Wallet = {
    ...book.wallet,
    version: before.version + 1,
    sequence: batch?.sequence ?? before.sequence,
    lastHash: batch?.hash ?? before.lastHash,
    updatedAtMs: context.nowMs,
  };
  return {
    decidedAtMs: book.decidedAtMs,
    wallet,
    batch,
    newReservations: [...book.newReservations.values()],
    changedReservations: [...book.changedReservations.values()],
    settlements: [...book.newSettlements.values()],
    audit,
    events: book.events,
  };
}
