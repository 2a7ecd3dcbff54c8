/** The delivery log of an owner: list, resend, recover. */
import type { ClientSession, Collection, Db, Filter } from "mongodb";
import { lowestIdAt } from "../../shared/core/ids.ts";
import { wrapMongoError } from "../../shared/io/mongo-errors.ts";
import type { DeliveryFilter, DeliveryLog, NewDelivery } from "../app/ports.ts";
import type { Delivery, DeliveryStatus } from "../domain/delivery.ts";
import { type DeliveryDocument, toDelivery } from "./documents.ts";
import { IS_PENDING } from "./queue.ts";

/** The log, with the changes an owner may request. */
export type Deliveries = DeliveryLog & {
  /** Stores one delivery that is due now. */
  insertDue(delivery: NewDelivery, session: ClientSession): Promise<Delivery>;
  /**
   * Makes a delivery due now. A pending one keeps the rest of its schedule, a finished one gets one
   * attempt. Returns `undefined` when there is none, `"redacted"` when its body is gone,
   * `"attempting"` while a process works on it.
   */
  resend(
    key: { readonly tenantId: string; readonly endpointId: string; readonly deliveryId: string },
    nowMs: number,
    session: ClientSession,
  ): Promise<Delivery | "redacted" | "attempting" | undefined>;
  /** Makes deliveries that failed since an instant due, with a full schedule; returns how many. */
  recover(endpointId: string, sinceMs: number, attempts: number, nowMs: number): Promise<number>;
};

const RECOVER_BATCH = 1000;
/** The name of an index in `migrate.ts`. */
const MESSAGE_INDEX = "message";
const LOG_PROJECTION = { body: 0 } as const;

/**
 * Limit for one page: a filter that matches few of many deliveries must not block other queries.
 */
const PAGE_TIME_MAX_MS = 5000;

/** Deliveries that become due are kept for `retentionMs` from then on. */
export function createDeliveries(db: Db, retentionMs: number): Deliveries {
  const deliveries: Collection<DeliveryDocument> = db.collection("deliveries");

  const keptFrom = (ms: number) => ({ expires_at: new Date(ms + retentionMs) });

  return {
    async list(filter) {
      const documents = await deliveries
        .find(toQuery(filter), { projection: LOG_PROJECTION, maxTimeMS: PAGE_TIME_MAX_MS })
        .sort({ _id: -1 })
        .limit(filter.limit + 1)
        .toArray()
        .catch(rethrow);
      return {
        deliveries: documents.slice(0, filter.limit).map(toDelivery),
        hasMore: documents.length > filter.limit,
      };
    },

    async get(tenantId, endpointId, deliveryId, withBody = false) {
      const document = await deliveries
        .findOne(
          { _id: deliveryId, tenant_id: tenantId, endpoint_id: endpointId },
          withBody ? {} : { projection: LOG_PROJECTION },
        )
        .catch(rethrow);
      if (document === null) return undefined;
      const { body } = document;
      return { ...toDelivery(document), ...(body === undefined ? {} : { body }) };
    },

    async ofMessage(tenantId, messageId, limit) {
      const documents = await deliveries
        .find({ message_id: messageId, tenant_id: tenantId }, { projection: LOG_PROJECTION })
        .hint(MESSAGE_INDEX)
        .sort({ _id: 1 })
        .limit(limit)
        .toArray()
        .catch(rethrow);
      return documents.map(toDelivery);
    },

    async insertDue(item, session) {
      const document: DeliveryDocument = {
        _id: item.id,
        tenant_id: item.tenantId,
        endpoint_id: item.endpointId,
        event_id: item.eventId,
        event_type: item.eventType,
        status: "pending",
        body: item.body,
        next_attempt_at: new Date(item.dueAtMs),
        attempts: [],
        attempts_made: 0,
        attempts_left: item.attemptsLeft,
        fails_as: "failed",
        created_at: new Date(item.createdAtMs),
        activated_at: new Date(item.activatedAtMs),
        ...keptFrom(item.dueAtMs),
      };
      await deliveries.insertOne(document, { session });
      return toDelivery(document);
    },

    async resend({ tenantId, endpointId, deliveryId }, nowMs, session) {
      const key = { _id: deliveryId, tenant_id: tenantId, endpoint_id: endpointId };
      const found = await deliveries.findOne(key, { session });
      if (found === null) return undefined;
      if (found.body === undefined) return "redacted";
      if (found.lease_id !== undefined) return "attempting";
      const changed = await deliveries.findOneAndUpdate(
        key,
        {
          $set: resent(found, new Date(nowMs)),
          $max: keptFrom(nowMs),
          $unset: { completed_at: "" },
        },
        { session, returnDocument: "after" },
      );
      return changed === null ? undefined : toDelivery(changed);
    },

    async recover(endpointId, sinceMs, attempts, nowMs) {
      let recovered = 0;
      for (;;) {
        const failed = await deliveries
          .find(failedSince(endpointId, sinceMs, nowMs), { projection: { _id: 1 } })
          .limit(RECOVER_BATCH)
          .toArray()
          .catch(rethrow);
        if (failed.length === 0) return recovered;
        const result = await deliveries
          .updateMany(
            { _id: { $in: failed.map(({ _id }) => _id) }, status: "failed" },
            {
              $set: {
                status: "pending",
                attempts_left: attempts,
                fails_as: "failed",
                activated_at: new Date(nowMs),
                next_attempt_at: new Date(nowMs),
              },
              $max: keptFrom(nowMs),
              $unset: { completed_at: "" },
            },
          )
          .catch(rethrow);
        recovered += result.modifiedCount;
      }
    },
  };
}

/** The fields that a resend sets: a finished delivery returns to its old status if it fails. */
function resent(found: DeliveryDocument, now: Date): Partial<DeliveryDocument> {
  if (found.status === "pending") return { next_attempt_at: now, activated_at: now };
  return {
    status: "pending",
    attempts_left: 1,
    fails_as: found.status === "succeeded" ? "succeeded" : "failed",
    activated_at: now,
    next_attempt_at: now,
  };
}

/**
 * Failed since an instant means that the last attempt failed since, so deliveries made just before
 * an outage count too. A delivery that this call made due, and that failed again, is not found
 * twice.
 */
function failedSince(endpointId: string, sinceMs: number, nowMs: number): Filter<DeliveryDocument> {
  return {
    endpoint_id: endpointId,
    status: "failed",
    completed_at: { $gte: new Date(sinceMs) },
    activated_at: { $lt: new Date(nowMs) },
  };
}

function toQuery(filter: DeliveryFilter): Filter<DeliveryDocument> {
  const ids: { $gte?: string; $lt?: string } = {};
  if (filter.createdAfterMs > 0) ids.$gte = lowestIdAt("webhookDelivery", filter.createdAfterMs);
  const upper = [
    filter.beforeId,
    filter.createdBeforeMs !== 0 ? lowestIdAt("webhookDelivery", filter.createdBeforeMs) : "",
  ].filter((id) => id !== "");
  const [lowest] = upper.sort();
  if (lowest !== undefined) ids.$lt = lowest;
  return {
    endpoint_id: filter.endpointId,
    tenant_id: filter.tenantId,
    ...(Object.keys(ids).length === 0 ? {} : { _id: ids }),
    ...statusQuery(filter.statuses),
    ...(filter.eventType === "" ? {} : { event_type: filter.eventType }),
  };
}

/** With the queue's condition MongoDB may read pending deliveries, which are few among all, by the queue's index. */
function statusQuery(statuses: readonly DeliveryStatus[]): Filter<DeliveryDocument> {
  if (statuses.length === 0) return {};
  const isPending = statuses.every((status) => status === "pending");
  return {
    status: { $in: [...statuses] },
    ...(isPending ? { next_attempt_at: IS_PENDING } : {}),
  };
}

function rethrow(error: unknown): never {
  throw wrapMongoError(error);
}
