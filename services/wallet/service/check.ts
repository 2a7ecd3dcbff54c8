/**
 * Proves the books: every wallet recomputed from its entries, every reservation met by its
 * settlements, and both books compared item by item through fingerprints. It reads one snapshot
 * of the live data, locks nobody out, and keeps a few hundred bytes per wallet in memory.
 */

import {
  checkReservation,
  type HoldSums,
  holdSum,
  reservationParts,
  settlementParts,
} from "../domain/check-holds.ts";
import {
  addBatch,
  type Breach,
  compareWallet,
  emptyLedger,
  type LedgerSum,
  partOf,
} from "../domain/check-ledger.ts";
import type { EntryBatch } from "../domain/entry.ts";
import { isSameSet } from "../domain/fingerprint.ts";
import type { Reservation, Settlement } from "../domain/reservation.ts";
import type { Wallet } from "../domain/wallet.ts";

/** One consistent view of everything; an empty tenant means all. */
export type LedgerSnapshot = {
  /** Ordered by tenant. */
  wallets(tenantId: string): AsyncIterable<Wallet>;
  /** Ordered by tenant, then sequence. */
  batches(tenantId: string): AsyncIterable<EntryBatch>;
  /** Ordered by id. */
  reservations(tenantId: string): AsyncIterable<Reservation>;
  /** Ordered by reservation id. */
  settlements(tenantId: string): AsyncIterable<Settlement>;
  close(): Promise<void>;
};

/** How far a check is; the last item is `done`, and carries the totals. */
export type CheckProgress = {
  readonly breaches: readonly Breach[];
  readonly wallets: number;
  readonly entries: number;
  readonly reservations: number;
  readonly done: boolean;
};

/** Runs a check; ends early when the signal is aborted. */
export type CheckWallets = (tenantId: string, signal?: AbortSignal) => AsyncIterable<CheckProgress>;

/** Records between two items of progress. */
const PROGRESS_EVERY = 5000;
/** Names of differing records in one breach. */
const NAMED_MAX = 20;

/** Wires the check. */
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
  for await (const wallet of snapshot.wallets(tenantId)) wallets.set(wallet.tenantId, wallet);
  count.wallets = wallets.size;

  const ledgers = new Map<string, LedgerSum>();
  for await (const batch of snapshot.batches(tenantId)) {
    const ledger = ledgers.get(batch.tenantId) ?? emptyLedger(batch.tenantId);
    ledgers.set(batch.tenantId, ledger);
    const breaches = addBatch(ledger, batch);
    count.entries += batch.movements.length;
    if (breaches.length > 0 || isTime()) yield { breaches, ...count, done: false };
  }
  const sums: HoldSums = new Map();
  for await (const breaches of mergeHolds(snapshot, tenantId, sums)) {
    count.reservations += 1;
    if (breaches.length > 0 || isTime()) yield { breaches, ...count, done: false };
  }
  for (const id of new Set([...wallets.keys(), ...ledgers.keys(), ...sums.keys()])) {
    const ledger = ledgers.get(id) ?? emptyLedger(id);
    const breaches = [...compareTotals(id, wallets.get(id), ledger, sums)];
    if (!isSameSet(ledger.parts, holdSum(sums, id).parts)) {
      breaches.push(await nameDifferences(snapshot, id));
    }
    if (breaches.length > 0) yield { breaches, ...count, done: false };
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
    const what = `the wallet holds ${wallet.held}, its reservations have ${open} open`;
    yield { invariant: 1, what, ids: [tenantId] };
  }
}

/** Walks reservations and settlements side by side; one item per reservation or stray group. */
async function* mergeHolds(
  snapshot: LedgerSnapshot,
  tenantId: string,
  sums: HoldSums,
): AsyncGenerator<Breach[]> {
  const settlements = snapshot.settlements(tenantId)[Symbol.asyncIterator]();
  let next = await settlements.next();
  const takeUpTo = async (isWanted: (id: string) => boolean): Promise<Settlement[]> => {
    const taken: Settlement[] = [];
    while (next.done !== true && isWanted(next.value.reservationId)) {
      taken.push(next.value);
      next = await settlements.next();
    }
    return taken;
  };
  for await (const reservation of snapshot.reservations(tenantId)) {
    const strays = await takeUpTo((id) => id < reservation.id);
    if (strays.length > 0) yield strayBreaches(strays);
    const own = await takeUpTo((id) => id === reservation.id);
    yield checkReservation(sums, reservation, own);
  }
  const strays = await takeUpTo(() => true);
  if (strays.length > 0) yield strayBreaches(strays);
}

function strayBreaches(strays: readonly Settlement[]): Breach[] {
  return strays.map(({ messageId, reservationId }) => ({
    invariant: 2,
    what: "settled without a reservation",
    ids: [messageId, reservationId],
  }));
}

/** Names records that only one of the two books has. Rare, so it may read one tenant again. */
async function nameDifferences(snapshot: LedgerSnapshot, tenantId: string): Promise<Breach> {
  const unmatched = new Map<string, number>();
  const add = (part: string, by: number) => {
    const value = (unmatched.get(part) ?? 0) + by;
    if (value === 0) unmatched.delete(part);
    else unmatched.set(part, value);
  };
  for await (const batch of snapshot.batches(tenantId)) {
    for (const movement of batch.movements) {
      const part = partOf(movement);
      if (part !== undefined) add(part, 1);
    }
  }
  for await (const reservation of snapshot.reservations(tenantId)) {
    for (const part of reservationParts(reservation)) add(part, -1);
  }
  for await (const settlement of snapshot.settlements(tenantId)) {
    for (const part of settlementParts(settlement)) add(part, -1);
  }
  const named = [...unmatched.keys()].slice(0, NAMED_MAX);
  const what = `entries and settlements differ in ${unmatched.size} movements: ${named.join("; ")}`;
  return { invariant: 2, what, ids: [tenantId, ...named.map((part) => part.split(" ")[1] ?? "")] };
}
