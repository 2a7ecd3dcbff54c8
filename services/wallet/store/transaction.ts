/** The reads and writes of one transaction on one or several wallets. */
import type { ClientSession } from "mongodb";
import { AppError } from "../../shared/core/errors.ts";
import { isDuplicateKey } from "../../shared/io/mongo-errors.ts";
import type { RequiredDocuments } from "../app/ports.ts";
import { type Entry, entriesOf } from "../domain/entry.ts";
import type { Changes, View } from "../domain/ledger-batch.ts";
import type { Reservation, Settlement } from "../domain/reservation.ts";
import type { Wallet } from "../domain/wallet.ts";
import type { Collections } from "./collections.ts";
import {
  fromAudit,
  fromBatch,
  fromReservation,
  fromSettlement,
  fromWallet,
  toBatch,
  toReservation,
  toSettlement,
  toWallet,
} from "./documents.ts";

/**
 * Takes wallets for this transaction by writing to them first. A concurrent transaction on one of
 * them conflicts here, before either has done work in vain. Returns the current states.
 */
export async function takeWallets(
  { wallets }: Collections,
  tenantIds: readonly string[],
  session: ClientSession,
): Promise<Wallet[]> {
  const take = { $inc: { version: 1 } };
  const [only] = tenantIds;
  if (only !== undefined && tenantIds.length === 1) {
    const options = { session, returnDocument: "after" } as const;
    const taken = await wallets.findOneAndUpdate({ _id: only }, take, options);
    return taken === null ? [] : [toWallet(taken)];
  }
  await wallets.updateMany({ _id: { $in: [...tenantIds] } }, take, { session });
  return readWallets({ wallets }, tenantIds, session);
}

/**
 * Reads wallets that no other replica is known to write (ADR 77). A concurrent transaction on one of them conflicts
 * when the wallet is written. A wallet whose commands were all refused is never written: those refusals were true at a
 * moment between request and response.
 */
export async function readWallets(
  { wallets }: Pick<Collections, "wallets">,
  tenantIds: readonly string[],
  session: ClientSession,
): Promise<Wallet[]> {
  const found = await wallets.find({ _id: { $in: [...tenantIds] } }, { session }).toArray();
  return found.map(toWallet);
}

/** Reads the documents that batches of commands require, in the transaction's snapshot. */
export async function loadViews(
  { reservations, settlements, entries }: Collections,
  wallets: readonly Wallet[],
  required: ReadonlyMap<string, RequiredDocuments>,
  session: ClientSession,
): Promise<Map<string, View>> {
  const all = [...required.values()];
  // Ids are looked up across tenants: the decision compares the owner.
  const shared = {
    reservations: new Map<string, Reservation>(),
    settlements: new Map<string, Settlement>(),
  };
  const views = new Map<string, View & { readonly references: Map<string, Entry> }>();
  for (const wallet of wallets) {
    views.set(wallet.tenantId, { ...shared, wallet, references: new Map() });
  }
  const reservationIds = all.flatMap((one) => one.reservationIds);
  if (reservationIds.length > 0) {
    const found = reservations.find({ _id: { $in: reservationIds } }, { session });
    for (const document of await found.toArray()) {
      shared.reservations.set(document._id, toReservation(document));
    }
  }
  const messageIds = all.flatMap((one) => one.messageIds);
  if (messageIds.length > 0) {
    const found = settlements.find({ _id: { $in: messageIds } }, { session });
    for (const document of await found.toArray()) {
      shared.settlements.set(document._id, toSettlement(document));
    }
  }
  const references = [...required].flatMap(([tenantId, one]) =>
    one.references.length === 0
      ? []
      : [{ tenant_id: tenantId, references: { $in: [...one.references] } }],
  );
  if (references.length > 0) {
    const found = entries.find({ $or: references }, { session });
    for (const document of await found.toArray()) {
      const view = views.get(document.tenant_id);
      for (const entry of entriesOf(toBatch(document))) {
        if (entry.reference !== "") view?.references.set(entry.reference, entry);
      }
    }
  }
  return views;
}

/**
 * Writes the changes of one or several wallets. New reservations are due for a check `graceMs`
 * after the clock's time. The ledger's time does not count: it may be ahead of the clock, because
 * it never goes back after a replica whose clock was ahead.
 */
export async function saveChanges(
  collections: Collections,
  changes: readonly Changes[],
  options: {
    readonly graceMs: number;
    readonly auditKeepMs: number;
    /** The wallets as this process left them, if this transaction has not read them; they must be unchanged. */
    readonly assumed: readonly Wallet[] | undefined;
  },
  session: ClientSession,
): Promise<void> {
  const { audit } = collections;
  const { graceMs, auditKeepMs, assumed = [] } = options;
  await updateWallets(collections, changes, assumed, session);
  const newReservations = changes.flatMap((one) => {
    const checkAtMs = one.decidedAtMs + graceMs;
    return one.newReservations.map((reservation) => fromReservation(reservation, checkAtMs));
  });
  const newSettlements = changes.flatMap((one) => one.settlements);
  const batches = changes.flatMap(({ batch }) => (batch === undefined ? [] : [batch]));
  const records = changes.flatMap((one) => one.audit);
  try {
    await collections.insert("reservations", newReservations, session);
    await collections.insert("settlements", newSettlements.map(fromSettlement), session);
    await collections.insert("entries", batches.map(fromBatch), session);
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
    throw new AppError("already_exists", "It exists already.", { cause: error });
  }
  const changed = changes.flatMap((one) => one.changedReservations);
  await updateReservations(collections, changed, session);
  if (records.length > 0)
    await audit.insertMany(
      records.map((record) => fromAudit(record, auditKeepMs)),
      { session },
    );
}

async function updateWallets(
  { wallets }: Collections,
  changes: readonly Changes[],
  assumed: readonly Wallet[],
  session: ClientSession,
): Promise<void> {
  const expected = new Map(assumed.map((wallet) => [wallet.tenantId, fromWallet(wallet)]));
  const updates = changes.map(({ wallet }) => ({
    filter: expected.get(wallet.tenantId) ?? { _id: wallet.tenantId, version: wallet.version - 1 },
    update: {
      $set: {
        version: wallet.version,
        balance: wallet.balance,
        held: wallet.held,
        low_balance_threshold: wallet.lowBalanceThreshold,
        frozen: wallet.frozen,
        low: wallet.low,
        sequence: wallet.sequence,
        last_hash: wallet.lastHash,
        updated_at: new Date(wallet.updatedAtMs),
      },
    },
  }));
  const operations = updates.map((updateOne) => ({ updateOne }));
  const { matchedCount } = await wallets.bulkWrite(operations, { session });
  if (matchedCount !== changes.length) throw new WalletsOutOfDate();
}

/** A wallet is not as it was when its changes were decided. */
export class WalletsOutOfDate extends Error {
  constructor() {
    super("a wallet changed outside its transaction");
  }
}

/**
 * The majority of settlements close a reservation with a single message: one statement closes all such reservations.
 * For the other reservations the filter ensures that the open amount never rises.
 */
async function updateReservations(
  { reservations }: Collections,
  changed: readonly Reservation[],
  session: ClientSession,
): Promise<void> {
  const settled: string[] = [];
  const others: Reservation[] = [];
  for (const reservation of changed) {
    const { state, fencedAmount, messageCount } = reservation;
    const isSettled = state === "closed" && fencedAmount === 0n && messageCount === 1;
    if (isSettled) settled.push(reservation.id);
    else others.push(reservation);
  }
  let matched = 0;
  if (settled.length > 0) {
    const result = await reservations.updateMany(
      { _id: { $in: settled }, state: "open" },
      { $set: { open_amount: 0n, settled_count: 1, state: "closed" } },
      { session },
    );
    matched += result.matchedCount;
  }
  if (others.length > 0) {
    const result = await reservations.bulkWrite(
      others.map(({ id, openAmount, fencedAmount, settledCount, state }) => ({
        updateOne: {
          filter: { _id: id, open_amount: { $gte: openAmount } },
          update: {
            $set: {
              open_amount: openAmount,
              fenced_amount: fencedAmount,
              settled_count: settledCount,
              state,
            },
          },
        },
      })),
      { session },
    );
    matched += result.matchedCount;
  }
  if (matched !== changed.length) {
    throw new Error("a reservation changed outside its wallet's transaction");
  }
}
