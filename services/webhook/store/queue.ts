/**
 * The queue of deliveries. It uses one partial index, {endpoint_id, next_attempt_at}, of pending
 * deliveries only. Finding the endpoints with due deliveries reads one key per endpoint, however
 * many deliveries wait behind it (MongoDB's distinct scan).
 */
import {
  type AnyBulkWriteOperation,
  type Collection,
  type Db,
  type Filter,
  MongoBulkWriteError,
} from "mongodb";
import { isUnavailable } from "../../shared/core/errors.ts";
import { endAbandonedWhile } from "../../shared/io/abandoned-transactions.ts";
import { guardMongo, wrapMongoError } from "../../shared/io/mongo-errors.ts";
import type {
  AttemptResult,
  ClaimRequest,
  DeliveryQueue,
  Inserted,
  Lease,
  NewDelivery,
} from "../app/ports.ts";
import type { Claimed } from "../domain/delivery.ts";
import { withoutText } from "../domain/payloads.ts";
import {
  type AttemptDocument,
  type DeliveryDocument,
  toAttemptDocument,
  toClaimed,
} from "./documents.ts";

/** Name of the queue's index; queries name it as their hint. */
export const QUEUE_INDEX = "endpoint_due";

/** The condition of the partial index on `next_attempt_at`: only a pending delivery has this field. */
export const IS_PENDING = { $gt: new Date(0) } as const;

const DUPLICATE_KEY = 11000;
const DUE_ENDPOINTS_MAX = 20_000;
const ENDPOINTS_PER_QUERY = 50;
/** Attempts kept per delivery; only resends exceed the schedule. */
const ATTEMPTS_KEPT = 50;

/** Settings of the queue. */
export type QueueOptions = {
  readonly retentionMs: number;
  /** Marks the leases of this instance, so that its next run can release them. */
  readonly owner: string;
  readonly redactDelivered: boolean;
};

export function createDeliveryQueue(db: Db, options: QueueOptions): DeliveryQueue {
  const deliveries: Collection<DeliveryDocument> = db.collection("deliveries");

  return {
    async insert(items) {
      const expiresAt = new Date(Date.now() + options.retentionMs);
      const documents = items.map((item) => newDocument(item, options, expiresAt));
      try {
        await deliveries.insertMany(documents, { ordered: false });
        return items.map(() => "stored");
      } catch (error) {
        return readInsertErrors(error, items.length);
      }
    },

    async findDueEndpoints(byMs) {
      const due = deliveries.aggregate<{ _id: string; first: Date }>(
        [
          { $match: { endpoint_id: { $gt: "" }, next_attempt_at: IS_PENDING } },
          { $sort: { endpoint_id: 1, next_attempt_at: 1 } },
          { $group: { _id: "$endpoint_id", first: { $first: "$next_attempt_at" } } },
          { $match: { first: { $lte: new Date(byMs) } } },
          { $sort: { first: 1 } },
          { $limit: DUE_ENDPOINTS_MAX },
        ],
        { hint: QUEUE_INDEX },
      );
      const found = await guardMongo(due.toArray());
      return found.map(({ _id, first }) => ({ endpointId: _id, firstDueAtMs: first.getTime() }));
    },

    claim: (requests, lease, nowMs, byMs) =>
      guardMongo(
        // A killed process may have left the resend of one of these deliveries open.
        endAbandonedWhile(
          db.client,
          claim(deliveries, requests, lease, isFree(nowMs, byMs), options.owner),
        ),
      ),

    async writeResults(results) {
      const operations = results.map((result) => resultUpdate(result, options));
      const result = await guardMongo(deliveries.bulkWrite(operations, { ordered: false }));
      return results.length - result.matchedCount;
    },

    renew: (claimed, untilMs) => guardMongo(renew(deliveries, claimed, untilMs)),

    async release(claimed, nowMs) {
      const operations = claimed.map(({ id, leaseId, dueAtMs }) => ({
        updateOne: {
          filter: { _id: id, lease_id: leaseId },
          update: {
            $set: { next_attempt_at: new Date(Math.max(nowMs, dueAtMs)) },
            $unset: LEASE,
          },
        },
      }));
      await guardMongo(deliveries.bulkWrite(operations, { ordered: false }));
    },

    async releaseOwn(nowMs, leaseMs) {
      if (options.owner === "") return 0;
      const own = {
        // Bounds for both keys of the index: the query reads leased and soon due deliveries, not
        // the log and not later retries.
        endpoint_id: { $gt: "" },
        next_attempt_at: { $gt: new Date(nowMs), $lte: new Date(nowMs + leaseMs) },
        lease_owner: options.owner,
      };
      const release = [
        // A delivery claimed ahead of its due time is not due earlier.
        { $set: { next_attempt_at: { $max: ["$due_at", new Date(nowMs)] } } },
        { $unset: Object.keys(LEASE) },
      ];
      const result = await guardMongo(deliveries.updateMany(own, release, { hint: QUEUE_INDEX }));
      return result.modifiedCount;
    },

    async dropWaiting(endpointId, nowMs, disabledAtMs) {
      const waiting = {
        endpoint_id: endpointId,
        next_attempt_at: IS_PENDING,
        lease_id: { $exists: false },
        ...(disabledAtMs === undefined ? {} : { activated_at: { $lte: new Date(disabledAtMs) } }),
      };
      const drop = [
        { $set: { status: "dropped", completed_at: new Date(nowMs), body: UNLESS_REDACTED } },
        { $unset: ["next_attempt_at", ...Object.keys(LEASE)] },
      ];
      const result = await guardMongo(deliveries.updateMany(waiting, drop));
      return result.modifiedCount;
    },
  };
}

/** The body, removed when it would have to be redacted. */
const UNLESS_REDACTED = { $cond: [{ $eq: ["$redacts", true] }, "$$REMOVE", "$body"] };

const LEASE = { lease_id: "", lease_owner: "", due_at: "" } as const;

function newDocument(item: NewDelivery, options: QueueOptions, expiresAt: Date): DeliveryDocument {
  const document: DeliveryDocument = {
    _id: item.id,
    tenant_id: item.tenantId,
    endpoint_id: item.endpointId,
    event_id: item.eventId,
    event_type: item.eventType,
    status: "pending",
    body: item.body,
    next_attempt_at: new Date(item.lease?.untilMs ?? item.dueAtMs),
    ...(item.trace === undefined ? {} : { trace: item.trace }),
    ...(item.redacts === true ? { redacts: true as const } : {}),
    ...(item.messageId === undefined ? {} : { message_id: item.messageId }),
    ...(item.lease === undefined ? {} : { lease_id: item.lease.id, lease_owner: options.owner }),
    attempts: [],
    attempts_made: 0,
    attempts_left: item.attemptsLeft,
    fails_as: "failed",
    created_at: new Date(item.createdAtMs),
    activated_at: new Date(item.activatedAtMs),
    expires_at: expiresAt,
  };
  if (item.result !== undefined) addResult(document, item.result, options);
  return document;
}

/** Adds the result of the first attempt to a new document. */
function addResult(document: DeliveryDocument, result: AttemptResult, options: QueueOptions) {
  const { next, atMs } = result;
  const kept = keptAttempt(result, options);
  if (kept !== undefined) {
    document.attempts.push(kept);
    document.attempts_made = 1;
  }
  delete document.lease_id;
  delete document.lease_owner;
  if (next.status === "pending") {
    document.attempts_left = next.attemptsLeft;
    document.next_attempt_at = new Date(next.nextAttemptAtMs);
    return;
  }
  delete document.next_attempt_at;
  document.status = next.status;
  document.completed_at = new Date(atMs);
  const body = bodyAfter(result, options);
  if (body === undefined) delete document.body;
  else document.body = body;
}

/**
 * The body that a delivery keeps, or none: a finished delivery may lose its text or the whole body.
 */
function bodyAfter(result: AttemptResult, options: QueueOptions): string | undefined {
  if (isRedacted(result, options)) return undefined;
  const { claimed, next } = result;
  return claimed.redacts && next.status !== "pending" ? withoutText(claimed.body) : claimed.body;
}

function isRedacted({ next }: AttemptResult, { redactDelivered }: QueueOptions): boolean {
  return redactDelivered && next.status === "succeeded";
}

function keptAttempt(result: AttemptResult, options: QueueOptions): AttemptDocument | undefined {
  if (result.attempt === undefined) return undefined;
  const kept = toAttemptDocument(result.attempt);
  return isRedacted(result, options) ? { ...kept, answer: "" } : kept;
}

/**
 * Maps the errors of an insert. A duplicate was stored for an earlier delivery of the same event.
 */
function readInsertErrors(error: unknown, count: number): Inserted[] {
  const wrapped = wrapMongoError(error);
  if (!(error instanceof MongoBulkWriteError) || isUnavailable(wrapped)) throw wrapped;
  const faults = Array.isArray(error.writeErrors) ? error.writeErrors : [error.writeErrors];
  if (faults.length === 0) throw wrapped;
  const results: Inserted[] = new Array(count).fill("stored");
  for (const fault of faults) {
    results[fault.index] =
      fault.code === DUPLICATE_KEY
        ? "known"
        : new Error(fault.errmsg ?? "refused", { cause: error });
  }
  return results;
}

/**
 * Matches deliveries that may be leased. A delivery may be claimed before it is due, but a lease
 * never before its end: its holder works until then. Only `next_attempt_at` bounds the index;
 * `$nor` filters documents that are read anyway.
 */
function isFree(nowMs: number, byMs: number): Filter<DeliveryDocument> {
  return {
    next_attempt_at: { $gt: new Date(0), $lte: new Date(byMs) },
    $nor: [{ next_attempt_at: { $gt: new Date(nowMs) }, lease_id: { $exists: true } }],
  };
}

/** Finds ids of free deliveries, leases those that are still free, and reads the leased ones. */
async function claim(
  deliveries: Collection<DeliveryDocument>,
  requests: readonly ClaimRequest[],
  lease: Lease,
  free: Filter<DeliveryDocument>,
  owner: string,
): Promise<Claimed[]> {
  const groups: ClaimRequest[][] = [];
  for (let at = 0; at < requests.length; at += ENDPOINTS_PER_QUERY) {
    groups.push(requests.slice(at, at + ENDPOINTS_PER_QUERY));
  }
  const found = await Promise.all(groups.map((group) => findFreeIds(deliveries, group, free)));
  const ids = found.flat();
  if (ids.length === 0) return [];
  await deliveries.updateMany({ _id: { $in: ids }, ...free }, [
    {
      $set: {
        lease_id: lease.id,
        lease_owner: { $literal: owner },
        due_at: "$next_attempt_at",
        next_attempt_at: new Date(lease.untilMs),
      },
    },
  ]);
  const documents = await deliveries
    .find({ _id: { $in: ids }, lease_id: lease.id }, { projection: { attempts: { $slice: -1 } } })
    .toArray();
  const order = new Map(ids.map((id, at) => [id, at]));
  return documents.sort((a, b) => (order.get(a._id) ?? 0) - (order.get(b._id) ?? 0)).map(toClaimed);
}

/** Extends leases that are still held; returns the ids of those. */
async function renew(
  deliveries: Collection<DeliveryDocument>,
  claimed: readonly Claimed[],
  untilMs: number,
): Promise<ReadonlySet<string>> {
  const held = new Set<string>();
  // Deliveries claimed together share a lease id, so the groups are few.
  for (const [lease_id, items] of Map.groupBy(claimed, ({ leaseId }) => leaseId)) {
    const ids = items.map(({ id }) => id);
    const filter = { _id: { $in: ids }, lease_id };
    const $set = { next_attempt_at: new Date(untilMs) };
    const { matchedCount } = await deliveries.updateMany(filter, { $set });
    const areAllHeld = matchedCount === new Set(ids).size;
    const found = areAllHeld
      ? ids
      : (await deliveries.find(filter, { projection: { _id: 1 } }).toArray()).map((d) => d._id);
    for (const id of found) held.add(id);
  }
  return held;
}

async function findFreeIds(
  deliveries: Collection<DeliveryDocument>,
  requests: readonly ClaimRequest[],
  free: Filter<DeliveryDocument>,
): Promise<string[]> {
  const [first, ...others] = requests.map(({ endpointId, max }) => [
    { $match: { endpoint_id: endpointId, ...free } },
    { $sort: { next_attempt_at: 1 } },
    { $limit: max },
    { $project: { _id: 1 } },
  ]);
  const pipeline = [
    ...(first ?? []),
    ...others.map((part) => ({
      $unionWith: { coll: deliveries.collectionName, pipeline: part },
    })),
  ];
  const found = await deliveries.aggregate<{ _id: string }>(pipeline).toArray();
  return found.map(({ _id }) => _id);
}

function resultUpdate(
  result: AttemptResult,
  options: QueueOptions,
): AnyBulkWriteOperation<DeliveryDocument> {
  const { claimed, next, atMs } = result;
  const kept = keptAttempt(result, options);
  const isPending = next.status === "pending";
  const body = bodyAfter(result, options);
  return {
    updateOne: {
      filter: { _id: claimed.id, lease_id: claimed.leaseId },
      update: {
        $set: isPending
          ? {
              attempts_left: next.attemptsLeft,
              next_attempt_at: new Date(next.nextAttemptAtMs),
            }
          : {
              status: next.status,
              completed_at: new Date(atMs),
              ...(body === undefined || body === claimed.body ? {} : { body }),
            },
        $unset: {
          ...LEASE,
          ...(isPending ? {} : { next_attempt_at: "" as const }),
          ...(body === undefined ? { body: "" as const } : {}),
        },
        ...(kept === undefined
          ? {}
          : {
              $inc: { attempts_made: 1 },
              $push: { attempts: { $each: [kept], $slice: -ATTEMPTS_KEPT } },
            }),
      },
    },
  };
}
