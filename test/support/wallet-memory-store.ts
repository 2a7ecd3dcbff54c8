/**
 * The wallet's store port in memory, for tests without IO. It passes the store's conformance
 * suite.
 */
import { AppError } from "../../services/shared/core/errors.ts";
import type { RequiredDocuments, WalletStore } from "../../services/wallet/app/ports.ts";
import type { LedgerSnapshot } from "../../services/wallet/app/reconcile.ts";
import { type EntryBatch, entriesOf } from "../../services/wallet/domain/entry.ts";
import type {
  AuditRecord,
  Changes,
  View,
  WalletEvent,
} from "../../services/wallet/domain/ledger-batch.ts";
import type { Reservation, Settlement } from "../../services/wallet/domain/reservation.ts";
import type { Wallet } from "../../services/wallet/domain/wallet.ts";

export type MemoryWalletStore = WalletStore & {
  readonly events: WalletEvent[];
  openSnapshot(): LedgerSnapshot;
};

type Tables = {
  readonly wallets: Map<string, Wallet>;
  readonly reservations: Map<string, Reservation>;
  readonly due: Map<string, { checkAtMs: number; checks: number }>;
  readonly settlements: Map<string, Settlement>;
  readonly batches: EntryBatch[];
  readonly audit: AuditRecord[];
  readonly events: WalletEvent[];
};

/** An empty store. */
export function createMemoryWalletStore(graceMs = 300_000): MemoryWalletStore {
  const tables: Tables = {
    wallets: new Map(),
    reservations: new Map(),
    due: new Map(),
    settlements: new Map(),
    batches: [],
    audit: [],
    events: [],
  };
  // One transaction at a time: serialisable without conflict detection.
  let last = Promise.resolve();
  return {
    events: tables.events,
    openSnapshot: () => snapshotOf(tables),
    async transact(tenantIds, work) {
      const before = last;
      let release = () => {};
      last = new Promise((resolve) => {
        release = resolve;
      });
      await before;
      try {
        const wallets = tenantIds.flatMap((id) => tables.wallets.get(id) ?? []);
        let saved: readonly Changes[] = [];
        const result = await work({
          isExclusive: true,
          isAssumed: false,
          read: async () => {},
          load: async (required) =>
            new Map(wallets.map((one) => [one.tenantId, viewOf(tables, one, required)])),
          async save(changes) {
            requireNew(tables, changes);
            requireNoRise(tables, changes);
            saved = changes;
          },
        });
        for (const wallet of wallets) {
          tables.wallets.set(wallet.tenantId, { ...wallet, version: wallet.version + 1 });
        }
        for (const changes of saved) commit(tables, changes, graceMs);
        return result;
      } finally {
        release();
      }
    },
    async createWallet(wallet, audit) {
      const stored = tables.wallets.get(wallet.tenantId);
      if (stored !== undefined) return stored;
      tables.wallets.set(wallet.tenantId, wallet);
      tables.audit.push(audit);
      return wallet;
    },
    findWallet: async (tenantId) => tables.wallets.get(tenantId),
    async findReservation(tenantId, reservationId) {
      const reservation = tables.reservations.get(reservationId);
      return reservation?.tenantId === tenantId ? reservation : undefined;
    },
    findSettled: async (ids) => pick(tables.settlements, ids),
    async listEntries({ tenantId, fromMs, toMs, kinds, campaignId, limit, before }) {
      return entries(tables, tenantId)
        .filter(
          (entry) =>
            entry.createdAtMs >= fromMs &&
            (toMs === 0 || entry.createdAtMs < toMs) &&
            (kinds.length === 0 || kinds.includes(entry.kind)) &&
            (campaignId === "" || entry.campaignId === campaignId) &&
            (before === undefined ||
              entry.sequence < before.sequence ||
              (entry.sequence === before.sequence && entry.position < before.position)),
        )
        .slice(0, limit);
    },
    async listAudit(tenantId, beforeId, limit) {
      return tables.audit
        .filter((one) => one.tenantId === tenantId && (beforeId === "" || one.id < beforeId))
        .sort((a, b) => (a.id < b.id ? 1 : -1))
        .slice(0, limit);
    },
    async listDue(nowMs, limit) {
      return [...tables.due]
        .filter(([id, { checkAtMs }]) => checkAtMs <= nowMs && isOpen(tables, id))
        .sort(([, a], [, b]) => a.checkAtMs - b.checkAtMs)
        .slice(0, limit)
        .flatMap(([id, { checks }]) => {
          const reservation = tables.reservations.get(id);
          return reservation === undefined ? [] : [{ ...reservation, checks }];
        });
    },
    async postpone(checks) {
      for (const { id, atMs } of checks) {
        const due = tables.due.get(id);
        if (due === undefined || !isOpen(tables, id)) continue;
        tables.due.set(id, { checkAtMs: atMs, checks: due.checks + 1 });
      }
    },
    async *streamSettlements(tenantId) {
      const own = byId(tables.settlements, ({ messageId }) => messageId).filter(
        (one) => tenantId === "" || one.tenantId === tenantId,
      );
      yield* chunksOf(own);
    },
    async *streamOpenReservations(createdBeforeMs) {
      const open = byId(tables.reservations, ({ id }) => id).filter(
        ({ state, createdAtMs }) =>
          state === "open" && (createdBeforeMs === 0 || createdAtMs < createdBeforeMs),
      );
      yield* chunksOf(open);
    },
  };
}

function* chunksOf<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let at = 0; at < all.length; at += 1000) yield all.slice(at, at + 1000);
}

function viewOf(tables: Tables, wallet: Wallet, all: ReadonlyMap<string, RequiredDocuments>): View {
  const required = all.get(wallet.tenantId) ?? {
    reservationIds: [],
    messageIds: [],
    references: [],
  };
  const references = new Map(
    entries(tables, wallet.tenantId)
      .filter(({ reference }) => required.references.includes(reference))
      .map((entry) => [entry.reference, entry]),
  );
  return {
    wallet,
    reservations: pick(tables.reservations, required.reservationIds),
    settlements: pick(tables.settlements, required.messageIds),
    references,
  };
}

function requireNew(tables: Tables, changes: readonly Changes[]): void {
  const reservationIds = changes.flatMap((one) => one.newReservations.map(({ id }) => id));
  const messageIds = changes.flatMap((one) => one.settlements.map(({ messageId }) => messageId));
  const isKnown =
    new Set(reservationIds).size < reservationIds.length ||
    new Set(messageIds).size < messageIds.length ||
    reservationIds.some((id) => tables.reservations.has(id)) ||
    messageIds.some((id) => tables.settlements.has(id));
  if (isKnown) throw new AppError("already_exists", "It exists already.");
}

function requireNoRise(tables: Tables, changes: readonly Changes[]): void {
  for (const { id, openAmount } of changes.flatMap((one) => one.changedReservations)) {
    const stored = tables.reservations.get(id);
    if (stored === undefined || stored.openAmount < openAmount) {
      throw new Error("the open amount of a reservation never rises");
    }
  }
}

function commit(tables: Tables, changes: Changes, graceMs: number): void {
  tables.wallets.set(changes.wallet.tenantId, changes.wallet);
  for (const reservation of changes.newReservations) {
    tables.reservations.set(reservation.id, reservation);
    const checkAtMs = changes.decidedAtMs + graceMs;
    tables.due.set(reservation.id, { checkAtMs, checks: 0 });
  }
  for (const reservation of changes.changedReservations) {
    tables.reservations.set(reservation.id, reservation);
  }
  for (const settlement of changes.settlements) {
    tables.settlements.set(settlement.messageId, settlement);
  }
  if (changes.batch !== undefined) tables.batches.push(changes.batch);
  tables.audit.push(...changes.audit);
  tables.events.push(...changes.events);
}

function entries(tables: Tables, tenantId: string) {
  return tables.batches
    .filter((batch) => batch.tenantId === tenantId)
    .flatMap(entriesOf)
    .reverse();
}

function isOpen(tables: Tables, id: string): boolean {
  return tables.reservations.get(id)?.state === "open";
}

function pick<T>(from: ReadonlyMap<string, T>, ids: readonly string[]): Map<string, T> {
  const picked = new Map<string, T>();
  for (const id of ids) {
    const value = from.get(id);
    if (value !== undefined) picked.set(id, value);
  }
  return picked;
}

function byId<T>(from: ReadonlyMap<string, T>, id: (value: T) => string): T[] {
  return [...from.values()].sort((a, b) => (id(a) < id(b) ? -1 : 1));
}

function snapshotOf(tables: Tables): LedgerSnapshot {
  const own = (tenantId: string) => (one: { readonly tenantId: string }) =>
    tenantId === "" || one.tenantId === tenantId;
  const each = async function* <T>(items: readonly T[]) {
    for (const item of items) yield [item];
  };
  return {
    wallets: (tenantId) => each(byId(tables.wallets, (w) => w.tenantId).filter(own(tenantId))),
    batches: (tenantId) =>
      each(
        tables.batches
          .filter(own(tenantId))
          .toSorted((a, b) => (a.tenantId < b.tenantId ? -1 : a.tenantId > b.tenantId ? 1 : 0)),
      ),
    reservations: (tenantId) =>
      each(byId(tables.reservations, ({ id }) => id).filter(own(tenantId))),
    settlements: (tenantId) =>
      each(byId(tables.settlements, ({ reservationId }) => reservationId).filter(own(tenantId))),
    close: async () => {},
  };
}
