/** The reads and writes of one transaction on one wallet. */
import type { ClientSession } from "mongodb";
import { AppError } from "../../shared/core/errors.ts";
import { isDuplicateKey } from "../../shared/io/mongo.ts";
import type { Changes, View } from "../domain/book.ts";
import { type Entry, entriesOf } from "../domain/entry.ts";
import type { Reservation, Settlement } from "../domain/reservation.ts";
import type { Wallet } from "../domain/wallet.ts";
import type { Needs } from "../service/ports.ts";
import type { Collections } from "./collections.ts";
import {
  fromAudit,
  fromBatch,
  fromReservation,
  fromSettlement,
  toBatch,
  toReservation,
  toSettlement,
  toWallet,
} from "./documents.ts";

/**
 * Takes a wallet for this transaction by writing to it first: any other transaction on it is met
 * here, by a conflict, before it has done anything in vain. Answers the state it was in.
 */
export async function takeWallet(
  { wallets }: Collections,
  tenantId: string,
  session: ClientSession,
): Promise<Wallet> {
  const before = await wallets.findOneAndUpdate(
    { _id: tenantId },
    { $inc: { version: 1 } },
    { session, returnDocument: "before" },
  );
  if (before === null) throw new AppError("not_found", "No such wallet.");
  return toWallet(before);
}

/** Reads what a batch of commands needs, in the transaction's snapshot. */
export async function loadView(
  { reservations, settlements, entries }: Collections,
  wallet: Wallet,
  needs: Needs,
  session: ClientSession,
): Promise<View> {
  const view = {
    wallet,
    reservations: new Map<string, Reservation>(),
    settlements: new Map<string, Settlement>(),
    references: new Map<string, Entry>(),
  };
  if (needs.reservationIds.length > 0) {
    const found = reservations.find({ _id: { $in: [...needs.reservationIds] } }, { session });
    for (const document of await found.toArray()) {
      view.reservations.set(document._id, toReservation(document));
    }
  }
  if (needs.messageIds.length > 0) {
    const found = settlements.find({ _id: { $in: [...needs.messageIds] } }, { session });
    for (const document of await found.toArray()) {
      view.settlements.set(document._id, toSettlement(document));
    }
  }
  if (needs.references.length > 0) {
    const filter = { tenant_id: wallet.tenantId, references: { $in: [...needs.references] } };
    for (const document of await entries.find(filter, { session }).toArray()) {
      for (const entry of entriesOf(toBatch(document))) {
        if (entry.reference !== "") view.references.set(entry.reference, entry);
      }
    }
  }
  return view;
}

/** Writes one batch's changes. */
export async function saveChanges(
  collections: Collections,
  changes: Changes,
  graceMs: number,
  session: ClientSession,
): Promise<void> {
  const { wallets, reservations, settlements, entries, audit } = collections;
  const { wallet } = changes;
  const updated = await wallets.updateOne(
    { _id: wallet.tenantId, version: wallet.version },
    {
      $set: {
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
    { session },
  );
  if (updated.matchedCount !== 1) throw new Error("the wallet changed inside its own transaction");
  try {
    if (changes.newReservations.length > 0) {
      await reservations.insertMany(
        changes.newReservations.map((reservation) => fromReservation(reservation, graceMs)),
        { session },
      );
    }
    if (changes.settlements.length > 0) {
      await settlements.insertMany(changes.settlements.map(fromSettlement), { session });
    }
    if (changes.batch !== undefined) await entries.insertOne(fromBatch(changes.batch), { session });
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
    throw new AppError("already_exists", "It exists already.", { cause: error });
  }
  await updateReservations(collections, changes.changedReservations, session);
  if (changes.audit.length > 0) await audit.insertMany(changes.audit.map(fromAudit), { session });
}

/** Most settlements close a reservation of one message: those are closed by a single statement. */
async function updateReservations(
  { reservations }: Collections,
  changed: readonly Reservation[],
  session: ClientSession,
): Promise<void> {
  const settled: string[] = [];
  const others: Reservation[] = [];
  for (const reservation of changed) {
    const isSettled = reservation.state === "closed" && reservation.fencedAmount === 0n;
    if (isSettled) settled.push(reservation.id);
    else others.push(reservation);
  }
  let matched = 0;
  if (settled.length > 0) {
    const result = await reservations.updateMany(
      { _id: { $in: settled }, state: "open" },
      { $set: { open_amount: 0n, state: "closed" } },
      { session },
    );
    matched += result.matchedCount;
  }
  if (others.length > 0) {
    const result = await reservations.bulkWrite(
      others.map(({ id, openAmount, fencedAmount, state }) => ({
        updateOne: {
          filter: { _id: id, state: "open" as const },
          update: { $set: { open_amount: openAmount, fenced_amount: fencedAmount, state } },
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
