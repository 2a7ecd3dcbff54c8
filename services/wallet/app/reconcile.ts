/**
 * Checks the ledger: recomputes every wallet from its entries, merges every reservation with its
 * settlements, and compares both sides item by item through fingerprints. It reads one snapshot of
 * the live data and blocks no writer. It needs a few hundred bytes of memory per wallet, and some
 * tens of megabytes while it names differences.
 */
import { formatAmount } from "../../shared/core/money.ts";
import {
  type CheckedReservation,
  type CheckedSettlement,
  checkReservation,
  type HoldSums,
  holdSum,
  reservationItems,
  settlementItems,
} from "../domain/check-holds.ts";
import {
  addBatch,
  type Breach,
  compareWallet,
  emptyLedger,
  itemOf,
  type LedgerSum,
} from "../domain/check-ledger.ts";
import type { EntryBatch } from "../domain/entry.ts";
import { isSameSet } from "../domain/fingerprint.ts";
import { addToBucket, chooseBuckets, compareItem, emptyBuckets } from "../domain/set-difference.ts";
import type { Wallet } from "../domain/wallet.ts";

/** Records in chunks: one await per record takes longer than the check of the record. */
export type Chunks<T> = AsyncIterable<readonly T[]>;

/** One consistent view of the database; an empty tenant means all tenants. */
export type LedgerSnapshot = {
  /** Ordered by tenant. */
  wallets(tenantId: string): Chunks<Wallet>;
  /** Ordered by tenant, then sequence. */
  batches(tenantId: string): Chunks<EntryBatch>;
  /** Ordered by id. */
  reservations(tenantId: string): Chunks<CheckedReservation>;
  /** Ordered by reservation id. */
  settlements(tenantId: string): Chunks<CheckedSettlement>;
  close(): Promise<void>;
};

/** Progress of a check. The last item is `done` and has the totals. */
export type CheckProgress = {
  readonly breaches: readonly Breach[];
  readonly wallets: number;
  readonly entries: number;
  readonly reservations: number;
  readonly done: boolean;
};

/** Runs a check; an aborted signal ends it early. */
export type CheckWallets = (tenantId: string, signal?: AbortSignal) => AsyncIterable<CheckProgress>;

/** Chunks per item of progress. */
const PROGRESS_EVERY = 10;
/** The maximum number of records that one breach names. */
const NAMED_MAX = 20;
/** The maximum number of records compared one by one to name differences: some tens of megabytes. */
const COMPARED_MAX = 200_000;

export function createCheckWallets(openSnapshot: () => LedgerSnapshot): CheckWallets {
  return async function* check(tenantId, signal) {
    const snapshot = openSnapshot();
    try {
      yield* run(snapshot, tenantId, signal);
    } finally {
      await snapshot.close();
    }
  };
}

async function* run(
  snapshot: LedgerSnapshot,
  tenantId: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<CheckProgress> {
  const count = { wallets: 0, entries: 0, reservations: 0 };
  let steps = 0;
  const isTime = () => {
    signal?.throwIfAborted();
    steps += 1;
    return steps % PROGRESS_EVERY === 0;
  };
  const wallets = new Map<string, Wallet>();
  for await (const chunk of snapshot.wallets(tenantId)) {
    for (const wallet of chunk) wallets.set(wallet.tenantId, wallet);
  }
  count.wallets = wallets.size;

  const ledgers = new Map<string, LedgerSum>();
  for await (const chunk of snapshot.batches(tenantId)) {
    const breaches: Breach[] = [];
    for (const batch of chunk) {
      const ledger = ledgers.get(batch.tenantId) ?? emptyLedger(batch.tenantId);
      ledgers.set(batch.tenantId, ledger);
      breaches.push(...addBatch(ledger, batch));
      count.entries += batch.movements.length;
    }
    if (breaches.length > 0 || isTime()) yield { breaches, ...count, done: false };
  }
  const sums: HoldSums = new Map();
  for await (const { breaches, reservations } of mergeHolds(snapshot, tenantId, sums)) {
    count.reservations += reservations;
    if (breaches.length > 0 || isTime()) yield { breaches, ...count, done: false };
  }
  for (const id of new Set([...wallets.keys(), ...ledgers.keys(), ...sums.keys()])) {
    const ledger = ledgers.get(id) ?? emptyLedger(id);
    const breaches = [...compareTotals(id, wallets.get(id), ledger, sums)];
    if (breaches.length > 0) yield { breaches, ...count, done: false };
    if (isSameSet(ledger.items, holdSum(sums, id).items)) continue;
    signal?.throwIfAborted();
    // The snapshot may be too old to be read again. The difference is certain without the names.
    const unnamed = { invariant: 2, what: "entries and settlements differ", ids: [id] };
    const difference = await nameDifferences(snapshot, id).catch(() => unnamed);
    yield { breaches: [difference], ...count, done: false };
  }
  yield { breaches: [], ...count, done: true };
}

function* compareTotals(
  tenantId: string,
  wallet: Wallet | undefined,
  ledger: LedgerSum,
  sums: HoldSums,
): Generator<Breach> {
  if (wallet === undefined) {
    yield { invariant: 1, what: "there are records but no wallet", ids: [tenantId] };
    return;
  }
  yield* compareWallet(ledger, wallet);
  const { open } = holdSum(sums, tenantId);
  if (open !== wallet.held) {
    const [held, reserved] = [formatAmount(wallet.held), formatAmount(open)];
    const what = `the wallet holds ${held}, its reservations have ${reserved} open`;
    yield { invariant: 1, what, ids: [tenantId] };
  }
}

/** Merges reservations and settlements by reservation id; one item per chunk of reservations. */
async function* mergeHolds(
  snapshot: LedgerSnapshot,
  tenantId: string,
  sums: HoldSums,
): AsyncGenerator<{ breaches: Breach[]; reservations: number }> {
  const settlements = peekable(snapshot.settlements(tenantId));
  for await (const chunk of snapshot.reservations(tenantId)) {
    const breaches: Breach[] = [];
    for (const reservation of chunk) {
      const own: CheckedSettlement[] = [];
      for (;;) {
        // Await only at the end of a chunk.
        const next = settlements.peek() ?? (await settlements.fill());
        if (next === undefined || next.reservationId > reservation.id) break;
        if (next.reservationId === reservation.id) own.push(next);
        else breaches.push(strayBreach(next));
        settlements.skip();
      }
      breaches.push(...checkReservation(sums, reservation, own));
    }
    yield { breaches, reservations: chunk.length };
  }
  for (;;) {
    const next = settlements.peek() ?? (await settlements.fill());
    if (next === undefined) return;
    settlements.skip();
    yield { breaches: [strayBreach(next)], reservations: 0 };
  }
}

/** Reads chunks one record at a time; `peek` returns the next record. */
function peekable<T>(chunks: Chunks<T>) {
  const iterator = chunks[Symbol.asyncIterator]();
  let chunk: readonly T[] = [];
  let at = 0;
  return {
    peek: (): T | undefined => chunk[at],
    skip() {
      at += 1;
    },
    /** Fetches the next chunk; undefined at the end. */
    async fill(): Promise<T | undefined> {
      const next = await iterator.next();
      chunk = next.done === true ? [] : next.value;
      at = 0;
      return chunk[0];
    },
  };
}

function strayBreach({ messageId, reservationId }: CheckedSettlement): Breach {
  const what = "settled without a reservation";
  return { invariant: 2, what, ids: [messageId, reservationId] };
}

/** Names records that only one side has. Rare, so it may read one tenant twice more. */
async function nameDifferences(snapshot: LedgerSnapshot, tenantId: string): Promise<Breach> {
  const buckets = emptyBuckets();
  for await (const { source, items } of itemsOf(snapshot, tenantId)) {
    for (const item of items) addToBucket(buckets, source, item);
  }
  const differences = chooseBuckets(buckets, COMPARED_MAX);
  for await (const { source, items } of itemsOf(snapshot, tenantId)) {
    for (const item of items) compareItem(differences, source, item);
  }
  const { unmatched, left } = differences;
  const named = [...unmatched.keys()].slice(0, NAMED_MAX);
  const shown = named.map(formatItem).join("; ");
  const count = left === 0 ? `${unmatched.size}` : `at least ${unmatched.size + left}`;
  const what = `entries and settlements differ in ${count} movements: ${shown}`;
  return { invariant: 2, what, ids: [tenantId, ...named.map((item) => item.split(" ")[1] ?? "")] };
}

/**
 * The holds, captures and releases of a tenant from both sides, as texts: those in the ledger, then those that its
 * reservations and settlements require. Fundings and adjustments have no counterpart and are left out.
 */
async function* itemsOf(snapshot: LedgerSnapshot, tenantId: string) {
  for await (const batches of snapshot.batches(tenantId)) {
    const movements = batches.flatMap((batch) => batch.movements);
    yield { source: "ledger", items: movements.flatMap((one) => itemOf(one) ?? []) } as const;
  }
  for await (const reservations of snapshot.reservations(tenantId)) {
    yield { source: "others", items: reservations.flatMap(reservationItems) } as const;
  }
  for await (const settlements of snapshot.settlements(tenantId)) {
    yield { source: "others", items: settlements.flatMap(settlementItems) } as const;
  }
}

/** Formats the amount in currency units. */
function formatItem(item: string): string {
  const [kind, id, amount = "0"] = item.split(" ");
  return `${kind} ${id} ${formatAmount(BigInt(amount))}`;
}
