/** The wallet's storage on MongoDB. */
import type { ClientSession, Db, Filter, MongoClient } from "mongodb";
import { runTransaction } from "../../shared/io/mongo.ts";
import { isDuplicateKey, wrapMongoError } from "../../shared/io/mongo-errors.ts";
import type { Outbox, OutboxTicket } from "../../shared/io/outbox.ts";
import type { StreamItem } from "../../shared/io/publisher.ts";
import { openSnapshot, type Snapshot } from "../../shared/io/snapshot.ts";
import type { Contention } from "../app/contention.ts";
import type { WalletStore } from "../app/ports.ts";
import type { WalletEvent } from "../domain/ledger-batch.ts";
import type { Wallet } from "../domain/wallet.ts";
import { openCollections } from "./collections.ts";
import {
  type AuditDocument,
  fromAudit,
  fromWallet,
  toAudit,
  toReservation,
  toSettlement,
  toWallet,
} from "./documents.ts";
import { createOwnWrites } from "./own-writes.ts";
import { listStatement } from "./statement.ts";
import {
  loadViews,
  readWallets,
  saveChanges,
  takeWallets,
  WalletsOutOfDate,
} from "./transaction.ts";

/** Retries of a transaction end after this long with `service_unavailable`. */
const TRANSACTION_LIMIT_MS = 10_000;
/** The maximum number of items per chunk of a stream. */
const CHUNK = 1000;

export function createWalletStore(parts: {
  readonly client: MongoClient;
  readonly db: Db;
  readonly outbox: Outbox;
  /** Encodes a wallet event for the event stream. */
  readonly encodeEvent: (event: WalletEvent) => StreamItem;
  readonly graceMs: number;
  readonly auditKeepMs: number;
  readonly contention: Contention;
}): WalletStore {
  const { client, outbox, encodeEvent, contention, graceMs, auditKeepMs } = parts;
  const collections = openCollections(parts.db);
  const ownWrites = createOwnWrites();
  const { wallets, reservations, settlements, audit } = collections;

  return {
    async transact(tenantIds, work) {
      let ticket: OutboxTicket | undefined;
      let written: readonly Wallet[] = [];
      const attempt = async (session: ClientSession) => {
        ticket = undefined;
        written = [];
        const isExclusive = contention.expectsConflict(tenantIds);
        const own = ownWrites.take(tenantIds);
        let assumed = isExclusive ? undefined : own;
        const open = isExclusive ? takeWallets : readWallets;
        let wallets = assumed ?? (await open(collections, tenantIds, session));
        return work({
          isExclusive,
          get isAssumed() {
            return assumed !== undefined;
          },
          async read() {
            assumed = undefined;
            wallets = await readWallets(collections, tenantIds, session);
          },
          load: (required) => loadViews(collections, wallets, required, session),
          async save(changes) {
            await saveChanges(collections, changes, { graceMs, auditKeepMs, assumed }, session);
            written = changes.map(({ wallet }) => wallet);
            const events = changes.flatMap((one) => one.events);
            ticket = await outbox.write(events.map(encodeEvent), session);
          },
        });
      };
      const run = () =>
        runTransaction(client, attempt, TRANSACTION_LIMIT_MS, (conflicts) =>
          contention.waitAfterConflict(tenantIds, conflicts),
        );
      await contention.giveWay(tenantIds);
      const result = await run().catch((error: unknown) => {
        if (!(error instanceof WalletsOutOfDate)) throw error;
        // The first attempt took the wallets out of `ownWrites`, so this attempt reads them.
        ownWrites.avoid(tenantIds);
        return run();
      });
      ownWrites.keep(written);
      outbox.publish(ticket);
      return result;
    },
    createWallet: (wallet, record) =>
      wrapErrors(async () => {
        try {
          await runTransaction(client, async (session) => {
            await wallets.insertOne(fromWallet(wallet), { session });
            await audit.insertOne(fromAudit(record, auditKeepMs), { session });
          });
          return wallet;
        } catch (error) {
          if (!isDuplicateKey(error)) throw error;
          const stored = await wallets.findOne({ _id: wallet.tenantId });
          if (stored === null) throw error;
          return toWallet(stored);
        }
      }),
    findWallet: (tenantId) =>
      wrapErrors(async () => {
        const document = await wallets.findOne({ _id: tenantId });
        return document === null ? undefined : toWallet(document);
      }),
    findReservation: (tenantId, reservationId) =>
      wrapErrors(async () => {
        const document = await reservations.findOne({ _id: reservationId, tenant_id: tenantId });
        return document === null ? undefined : toReservation(document);
      }),
    findSettled: (messageIds) =>
      wrapErrors(async () => {
        const found = await settlements.find({ _id: { $in: [...messageIds] } }).toArray();
        return new Map(found.map((document) => [document._id, toSettlement(document)]));
      }),
    listEntries: (query) => wrapErrors(() => listStatement(collections, query)),
    listAudit: (tenantId, beforeId, limit) =>
      wrapErrors(async () => {
        const filter: Filter<AuditDocument> = { tenant_id: tenantId };
        if (beforeId !== "") filter._id = { $lt: beforeId };
        return (await audit.find(filter).sort({ _id: -1 }).limit(limit).toArray()).map(toAudit);
      }),
    listDue: (nowMs, limit) =>
      wrapErrors(async () => {
        const due = await reservations
          .find({ state: "open", check_at: { $lte: new Date(nowMs) } })
          .sort({ check_at: 1 })
          .limit(limit)
          .toArray();
        return due.map((document) => ({ ...toReservation(document), checks: document.checks }));
      }),
    postpone: (checks) =>
      wrapErrors(async () => {
        if (checks.length === 0) return;
        // Many reservations of a sweep get the same next check time: one statement sets all with the same time.
        const byTime = Map.groupBy(checks, ({ atMs }) => atMs);
        await reservations.bulkWrite(
          [...byTime].map(([atMs, group]) => ({
            updateMany: {
              filter: { _id: { $in: group.map(({ id }) => id) }, state: "open" },
              update: { $set: { check_at: new Date(atMs) }, $inc: { checks: 1 } },
            },
          })),
          { ordered: false },
        );
      }),
    streamSettlements(tenantId) {
      const filter = tenantId === "" ? {} : { tenant_id: tenantId };
      return streamSnapshot(client, ({ options, chunks }) =>
        chunks(
          settlements.find(filter, { ...options, batchSize: CHUNK }).sort({ _id: 1 }),
          toSettlement,
        ),
      );
    },
    streamOpenReservations(createdBeforeMs) {
      const filter =
        createdBeforeMs === 0
          ? { state: "open" as const }
          : { state: "open" as const, created_at: { $lt: new Date(createdBeforeMs) } };
      // Few reservations are open: reading and sorting their partial index beats a collection scan.
      const hint = "open_check_at";
      return streamSnapshot(client, ({ options, chunks }) =>
        chunks(
          reservations
            .find(filter, { ...options, batchSize: CHUNK, hint, allowDiskUse: true })
            .sort({ _id: 1 }),
          toReservation,
        ),
      );
    },
  };
}

/** Streams one snapshot. Closes it also when the caller stops early. */
async function* streamSnapshot<T>(
  client: MongoClient,
  read: (snapshot: Snapshot) => AsyncGenerator<T[]>,
): AsyncGenerator<T[]> {
  const snapshot = openSnapshot(client);
  try {
    yield* read(snapshot);
  } finally {
    await snapshot.close();
  }
}

async function wrapErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw wrapMongoError(error);
  }
}
