/**
 * Counts of messages. Transactions that store or change messages append what they add to the counts (`usage_changes`),
 * and a background loop folds the appended changes into the counts (`usage`). So no transaction of messages waits for
 * another at a count, and each change is counted once: a fold deletes what it counts, in one transaction (ADR 150).
 */
import { type ClientSession, type Db, type MongoClient, MongoServerError } from "mongodb";
import { AppError } from "../../shared/core/errors.ts";
import { invalidField } from "../../shared/core/limits.ts";
import { runTransaction } from "../../shared/io/mongo.ts";
import { guardMongo } from "../../shared/io/mongo-errors.ts";
import type { UsageQuery, UsageResult, UsageStore } from "../app/ports.ts";
import type { MessageMode } from "../domain/message.ts";
import {
  sumUsage,
  type UsageChange,
  type UsageDimension,
  type UsageKey,
  usageId,
} from "../domain/usage.ts";

type StoredChange = Omit<UsageKey, "atMs"> & {
  at: Date;
  status: UsageChange["status"];
  messages: number;
  segments: number;
  amount: bigint;
};

type ChangesDocument = { created_at: Date; changes: StoredChange[] };

type Sums = { n: number; s: number; a: bigint };

type UsageDocument = {
  _id: string;
  tenant_id: string;
  mode: MessageMode;
  at: Date;
  country: string;
  from: string;
  key_id: string;
  campaign_id: string;
  statuses: Partial<Record<UsageChange["status"], Sums>>;
  expires_at: Date;
};

/** Reads int64 as `bigint`. */
const BIGINT = { useBigInt64: true } as const;
/** The maximum number of appended documents that one fold counts. */
const FOLD_MAX = 500;
/** Counts are kept as long as messages: 12 months and some days. */
const KEEP_MS = 400 * 86_400_000;
/** The time limit of a query. A longer one answers 503: it covers too many combinations. */
const QUERY_MAX_MS = 5000;
/** The most groups in one answer. */
export const USAGE_GROUPS_MAX = 10_000;
/** A transaction that appends takes no longer than this (`runTransaction`). */
const COMMIT_MAX_MS = 10_000;
/** MongoDB's code for a time zone that it does not know. */
const UNKNOWN_TIME_ZONE = 40_485;

/** Appends changes in the transaction of the messages. */
export async function appendUsage(
  db: Db,
  changes: readonly UsageChange[],
  nowMs: number,
  session: ClientSession,
): Promise<void> {
  if (changes.length === 0) return;
  const document = { created_at: new Date(nowMs), changes: changes.map(toStored) };
  await db.collection<ChangesDocument>("usage_changes").insertOne(document, { session });
}

/** The counts of one database. */
export function createUsageStore(client: MongoClient, db: Db): UsageStore {
  const appended = db.collection<ChangesDocument>("usage_changes", BIGINT);
  const usage = db.collection<UsageDocument>("usage");

  return {
    async fold() {
      const found = await guardMongo(appended.find().sort({ _id: 1 }).limit(FOLD_MAX).toArray());
      if (found.length === 0) return false;
      const ids = found.map(({ _id }) => _id);
      const sums = sumUsage(found.flatMap(({ changes }) => changes.map(fromStored)));
      await runTransaction(client, async (session) => {
        const { deletedCount } = await appended.deleteMany({ _id: { $in: ids } }, { session });
        // Another process has counted some of these changes; write nothing of this fold.
        if (deletedCount !== ids.length) throw new AppError("conflict", "It is counted elsewhere.");
        const writes = sums.map(({ key, ...sum }) => ({
          updateOne: { filter: { _id: usageId(key) }, update: toUpdate(key, sum), upsert: true },
        }));
        if (writes.length > 0) await usage.bulkWrite(writes, { session, ordered: false });
      });
      return found.length === FOLD_MAX;
    },

    async query(query): Promise<UsageResult> {
      const asOfMs = await countedUntil(query.nowMs);
      const pipeline = [
        {
          $match: {
            tenant_id: query.tenantId,
            mode: query.mode,
            at: { $gte: new Date(query.fromMs), $lt: new Date(query.toMs) },
          },
        },
        { $set: { counts: { $objectToArray: "$statuses" } } },
        { $unwind: "$counts" },
        {
          $group: {
            _id: groupOf(query),
            messages: { $sum: "$counts.v.n" },
            segments: { $sum: "$counts.v.s" },
            amount: { $sum: "$counts.v.a" },
          },
        },
        // Leave out counts that are zero now, such as those of messages that were queued.
        { $match: { messages: { $ne: 0 } } },
        { $sort: { _id: 1 } },
        { $limit: USAGE_GROUPS_MAX + 1 },
      ];
      const options = { maxTimeMS: QUERY_MAX_MS, ...BIGINT };
      const rows = await guardMongo(usage.aggregate(pipeline, options).toArray()).catch(refuseZone);
      if (rows.length > USAGE_GROUPS_MAX) {
        throw invalidField("group_by", "too_many", `makes more than ${USAGE_GROUPS_MAX} groups`);
      }
      const groups = rows.map((row) => ({
        values: row._id as Partial<Record<UsageDimension, string>>,
        messages: Number(row.messages),
        segments: Number(row.segments),
        amount: BigInt(row.amount as bigint | number),
      }));
      return { groups, asOfMs };
    },
  };

  /** The instant until which every change is counted: changes from before it are committed and folded. */
  async function countedUntil(nowMs: number): Promise<number> {
    const [oldest] = await guardMongo(appended.find().sort({ _id: 1 }).limit(1).toArray());
    const untilMs = nowMs - COMMIT_MAX_MS;
    return oldest === undefined ? untilMs : Math.min(untilMs, oldest.created_at.getTime());
  }
}

const FIELDS: Readonly<Record<Exclude<UsageDimension, "day" | "hour">, string>> = {
  status: "$counts.k",
  country: "$country",
  sender_id: "$from",
  key: "$key_id",
  campaign: "$campaign_id",
};

function groupOf({ groupBy, timeZone }: UsageQuery): Record<string, unknown> {
  // Truncate in the time zone: in zones such as Asia/Kathmandu hours begin at other minutes of UTC.
  const start = { $dateTrunc: { date: "$at", unit: "hour", timezone: timeZone } };
  const fields: Readonly<Record<UsageDimension, unknown>> = {
    ...FIELDS,
    day: { $dateToString: { date: "$at", format: "%Y-%m-%d", timezone: timeZone } },
    hour: { $dateToString: { date: start, format: "%Y-%m-%dT%H:%M:%S.%LZ" } },
  };
  return Object.fromEntries(groupBy.map((name) => [name, fields[name]]));
}

function refuseZone(error: unknown): never {
  const { cause } = error as Error;
  const first = error instanceof MongoServerError ? error : cause;
  if (first instanceof MongoServerError && first.code === UNKNOWN_TIME_ZONE) {
    throw invalidField("time_zone", "invalid_value", "is no time zone of the IANA database");
  }
  throw error;
}

function toUpdate(key: UsageKey, sum: Omit<UsageChange, "key">) {
  const { tenantId: tenant_id, mode, atMs, country, from, keyId, campaignId } = key;
  const path = `statuses.${sum.status}`;
  return {
    $setOnInsert: {
      ...{ tenant_id, mode, country, from, key_id: keyId, campaign_id: campaignId },
      at: new Date(atMs),
      expires_at: new Date(atMs + KEEP_MS),
    },
    $inc: {
      [`${path}.n`]: sum.messages,
      [`${path}.s`]: sum.segments,
      [`${path}.a`]: sum.amount,
    },
  };
}

function toStored({ key: { atMs, ...key }, ...sum }: UsageChange): StoredChange {
  return { ...key, at: new Date(atMs), ...sum };
}

function fromStored(stored: StoredChange): UsageChange {
  const { at, status, messages, segments, amount, ...key } = stored;
  return {
    key: { ...key, atMs: at.getTime() },
    ...{ status, messages: Number(messages), segments: Number(segments) },
    amount: BigInt(amount),
  };
}
