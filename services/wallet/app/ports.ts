/** The ports of the wallet's use cases. */
import type { EntryKind } from "../domain/account.ts";
import type { Entry } from "../domain/entry.ts";
import type { AuditRecord, Changes, View } from "../domain/ledger-batch.ts";
import type { Reservation, Settlement } from "../domain/reservation.ts";
import type { Wallet } from "../domain/wallet.ts";

/** Documents that the decision on a batch of commands reads, apart from the wallet itself. */
export type RequiredDocuments = {
  readonly reservationIds: readonly string[];
  readonly messageIds: readonly string[];
  readonly references: readonly string[];
};

/** One transaction with snapshot isolation. */
export type WalletTransaction = {
  /**
   * True when this transaction has written the wallets first and so owns them. Otherwise it has
   * only read them: another replica may have changed one since, which shows when this one writes.
   */
  readonly isExclusive: boolean;
  /**
   * True while the wallets are not read but as this process left them (ADR 175). A decision on them holds only if
   * all of them are saved; otherwise call `read` and decide again.
   */
  readonly isAssumed: boolean;
  /** Reads the wallets. */
  read(): Promise<void>;
  /** Reads one consistent view per wallet, by tenant. A wallet that does not exist has none. */
  load(required: ReadonlyMap<string, RequiredDocuments>): Promise<ReadonlyMap<string, View>>;
  /**
   * Writes all changes, once. Throws `already_exists` when a document that was decided to be new
   * exists; the whole transaction then rolls back.
   */
  save(changes: readonly Changes[]): Promise<void>;
};

/** A position in a statement. A page holds the entries older than it. */
export type StatementPlace = { readonly sequence: number; readonly position: number };

/** One page of a statement, newest first. */
export type StatementQuery = {
  readonly tenantId: string;
  /** Entries at or after this instant. */
  readonly fromMs: number;
  /** Entries before this instant; 0 means no bound. */
  readonly toMs: number;
  /** Empty means all kinds. */
  readonly kinds: readonly EntryKind[];
  /** Empty means entries of any campaign or none. */
  readonly campaignId: string;
  readonly limit: number;
  readonly before: StatementPlace | undefined;
};

/** A reservation that the sweeper has to check. */
export type DueReservation = Reservation & {
  /** How often the sweeper has checked it. */
  readonly checks: number;
};

/** The wallet's storage. */
export type WalletStore = {
  /**
   * Runs `work` in one transaction over these wallets. On wallets that another replica writes too,
   * `work` starts only after this transaction owns all of them; elsewhere a conflict shows at
   * `save`. `work` runs again after a conflict, and commits at most once.
   */
  transact<T>(
    tenantIds: readonly string[],
    work: (tx: WalletTransaction) => Promise<T>,
  ): Promise<T>;
  /** Inserts a wallet unless the tenant has one; returns the stored one. */
  createWallet(wallet: Wallet, audit: AuditRecord): Promise<Wallet>;
  findWallet(tenantId: string): Promise<Wallet | undefined>;
  findReservation(tenantId: string, reservationId: string): Promise<Reservation | undefined>;
  /** The settlements of these messages, by message id; at most 1,000 at once. */
  findSettled(messageIds: readonly string[]): Promise<ReadonlyMap<string, Settlement>>;
  /** A statement page, newest first, at most `limit` entries. */
  listEntries(query: StatementQuery): Promise<Entry[]>;
  listAudit(tenantId: string, beforeId: string, limit: number): Promise<AuditRecord[]>;
  /** Open reservations that are due for a check, longest due first. */
  listDue(nowMs: number, limit: number): Promise<DueReservation[]>;
  /** Sets the time of each reservation's next check, and adds one to its number of checks. */
  postpone(checks: readonly { readonly id: string; readonly atMs: number }[]): Promise<void>;
  /** Settlements by message id, in chunks of at most 1,000. Empty tenant means all. */
  streamSettlements(tenantId: string): AsyncIterable<readonly Settlement[]>;
  /** Open reservations by id, in chunks of at most 1,000; 0 means no bound. */
  streamOpenReservations(createdBeforeMs: number): AsyncIterable<readonly Reservation[]>;
};

/** Metrics that the use cases report. */
export type WalletMetrics = {
  /** A transaction has committed this many commands, `durationMs` after it took them. */
  onCommit(commands: number, durationMs: number): void;
  onSettled(result: string): void;
  onCheck(breaches: number, durationMs: number): void;
};
