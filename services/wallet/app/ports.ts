/** What the wallet's use cases need from the world. */
import type { EntryKind } from "../domain/account.ts";
import type { Entry } from "../domain/entry.ts";
import type { AuditRecord, Changes, View } from "../domain/ledger-batch.ts";
import type { Reservation, Settlement } from "../domain/reservation.ts";
import type { Wallet } from "../domain/wallet.ts";

/** What a batch of commands has to know beside the wallet itself. */
export type Needs = {
  readonly reservationIds: readonly string[];
  readonly messageIds: readonly string[];
  readonly references: readonly string[];
};

/** The inside of one transaction, which nobody else's can come between. */
export type WalletTransaction = {
  /**
   * The wallets are this transaction's own from its snapshot on. Elsewhere they were only read, and another replica may
   * have changed one since, which shows only when this one is to write it, too.
   */
  readonly isExclusive: boolean;
  /** Reads one consistent view per wallet, by tenant. A wallet that does not exist has none. */
  load(needs: ReadonlyMap<string, Needs>): Promise<ReadonlyMap<string, View>>;
  /**
   * Writes everything, once. Throws `already_exists` when something that was decided to be new
   * turns out to exist; the whole transaction is then undone.
   */
  save(changes: readonly Changes[]): Promise<void>;
};

/** Where a statement page begins, counted from the newest: everything before this place. */
export type StatementPlace = { readonly sequence: number; readonly position: number };

/** One page of a statement, newest first. */
export type StatementQuery = {
  readonly tenantId: string;
  /** At or after. */
  readonly fromMs: number;
  /** Before; 0 means no bound. */
  readonly toMs: number;
  /** Empty means all. */
  readonly kinds: readonly EntryKind[];
  readonly limit: number;
  readonly before: StatementPlace | undefined;
};

/** A reservation that has been open for long, as the sweeper sees it. */
export type DueReservation = Reservation & {
  /** How often messaging was asked about it. */
  readonly checks: number;
};

/** The wallet's storage. */
export type WalletStore = {
  /**
   * Runs `work` in one transaction over these wallets. Where another replica is known to want one,
   * it is not called before this transaction has them all; elsewhere a conflict shows when it
   * saves. It may run again on a conflict, and commits at most once.
   */
  transact<T>(
    tenantIds: readonly string[],
    work: (tx: WalletTransaction) => Promise<T>,
  ): Promise<T>;
  /** Inserts a wallet unless there is one; answers the one that stands. */
  createWallet(wallet: Wallet, audit: AuditRecord): Promise<Wallet>;
  findWallet(tenantId: string): Promise<Wallet | undefined>;
  findReservation(tenantId: string, reservationId: string): Promise<Reservation | undefined>;
  /** The settlements of these messages, by message; at most 1,000 at once. */
  findSettled(messageIds: readonly string[]): Promise<ReadonlyMap<string, Settlement>>;
  /** A statement page, newest first, at most `limit` lines. */
  listEntries(query: StatementQuery): Promise<Entry[]>;
  listAudit(tenantId: string, beforeId: string, limit: number): Promise<AuditRecord[]>;
  /** Open reservations whose time to be checked has come, longest due first. */
  listDue(nowMs: number, limit: number): Promise<DueReservation[]>;
  /** Sets when a reservation is to be checked again, and counts the check. */
  postpone(checks: readonly { readonly id: string; readonly atMs: number }[]): Promise<void>;
  /** Settlements by message id, in chunks of at most 1,000. Empty tenant means all. */
  streamSettlements(tenantId: string): AsyncIterable<readonly Settlement[]>;
  /** Open reservations by id, in chunks of at most 1,000; 0 means whenever created. */
  streamOpenReservations(createdBeforeMs: number): AsyncIterable<readonly Reservation[]>;
};
