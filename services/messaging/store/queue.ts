import type { Collection, Db } from "mongodb";
import { idTimeMs } from "../../shared/core/ids.ts";
import { endAbandonedWhile } from "../../shared/io/abandoned-transactions.ts";
import { wrapMongoError } from "../../shared/io/mongo-errors.ts";
import { SNAPSHOT } from "../../shared/io/snapshot.ts";
import type { ClaimBatch, QueueFigures, QueueQuery, QueueStore } from "../app/ports.ts";
import type { Claim, Message } from "../domain/message.ts";
import { queueName, sendingName, sentBy } from "../domain/queue-transitions.ts";
import { fromDocument, type MessageDocument, toStoredClaim } from "./documents.ts";
import { INDEXES } from "./schema.ts";

const LOCAL = { readConcern: { level: "local" } } as const;
const MAJORITY = { w: "majority", j: true } as const;

/**
 * The queue is the partial index `queue, tenant_id, _id, not_before` over the messages. A write of the message itself
 * puts it into the queue, claims it or removes it, so no second store can disagree (ADR 30).
 */
export function createQueueStore(db: Db): QueueStore {
  const messages: Collection<MessageDocument> = db.collection("messages");
  const carriers: Collection<{ _id: string; heard_at: Date }> = db.collection("carriers");

  /** The count command walks index keys only, and stops at its limit. */
  async function count(queue: string, limit: number): Promise<number> {
    const query = { queue };
    const reply = await db.command({ count: "messages", query, hint: INDEXES.queue, limit });
    return Number(reply.n);
  }

  async function findByIds(queries: readonly QueueQuery[]): Promise<Message[][]> {
    const ids = queries.flatMap((query) => query.ids);
    const names = queries.map(({ connectorId, priority }) => queueName(connectorId, priority));
    const latest = new Date(Math.max(...queries.map(({ nowMs }) => nowMs)));
    const documents = await messages
      .find({ _id: { $in: ids }, queue: { $in: names }, not_before: { $lte: latest } }, LOCAL)
      .batchSize(ids.length + 1)
      .hint({ _id: 1 })
      .toArray();
    const found = new Map(documents.map((document) => [document._id, document]));
    return queries.map((query) =>
      query.ids.flatMap((id) => {
        const document = found.get(id);
        return isClaimable(document, query) ? [fromDocument(document)] : [];
      }),
    );
  }

  async function claim(batches: readonly ClaimBatch[]): Promise<Message[][]> {
    const claims = batches.map((batch) => batch.found.map((one) => claimOf(batch, one)));
    const found = batches.flatMap((batch) => batch.found);
    // A killed process may have left a transaction on these messages open: end it if it blocks this write.
    const write = messages.bulkWrite(
      batches.flatMap((batch, at) => guardedUpdates(batch, claims[at] ?? [])),
      {
        ordered: false,
        writeConcern: MAJORITY,
      },
    );
    const { modifiedCount } = await endAbandonedWhile(db.client, write);
    if (modifiedCount === found.length) {
      return batches.map((batch, at) =>
        batch.found.map((message, index) => ({
          ...message,
          phase: "sending" as const,
          claim: claims[at]?.[index],
          revision: message.revision + 1,
        })),
      );
    }
    const documents = await messages
      .find({
        _id: { $in: found.map(({ id }) => id) },
        "claim.id": { $in: batches.map(({ claim }) => claim.id) },
      })
      .sort({ _id: 1 })
      .toArray();
    const byClaim = Map.groupBy(documents.map(fromDocument), (message) => message.claim?.id);
    return batches.map(({ claim }) => byClaim.get(claim.id) ?? []);
  }

  async function queueNames(): Promise<string[]> {
    return (await messages.distinct("queue", { queue: { $gt: "" } }, LOCAL)) as string[];
  }

  return guardAll({
    queueNames,
    waitingTenants: (connectorId, priority) =>
      messages.distinct("tenant_id", { queue: queueName(connectorId, priority) }, LOCAL),
    async findWaiting(connectorId, priority, { tenantIds, fromId, nowMs, limit, isFresh }) {
      const documents = await messages
        .find(
          {
            queue: queueName(connectorId, priority),
            tenant_id: { $in: [...tenantIds] },
            ...(fromId === "" ? {} : { _id: { $gte: fromId } }),
            not_before: isFresh === true ? new Date(0) : { $lte: new Date(nowMs) },
          },
          LOCAL,
        )
        .sort({ tenant_id: 1, _id: 1 })
        .limit(limit)
        .batchSize(limit)
        .hint(INDEXES.queue)
        .toArray();
      return documents.map(fromDocument);
    },
    findByIds,
    claim,
    async sendingNames(carrierId) {
      return (await queueNames()).filter((name) => sentBy(name) === carrierId);
    },
    async findSending(names, afterId, limit) {
      const documents = await messages
        .find({ queue: { $in: [...names] }, _id: { $gt: afterId } }, { readConcern: SNAPSHOT })
        .hint(INDEXES.queue)
        .sort({ _id: 1 })
        .limit(limit)
        .batchSize(limit)
        .toArray();
      return documents.map(fromDocument);
    },
    countIn: (connectorId, priority, max) => count(queueName(connectorId, priority), max),
    async figures() {
      const byConnector = new Map<string, QueueFigures>();
      for (const name of await queueNames()) {
        const [connectorId = "", kind = ""] = name.split("|");
        const known = byConnector.get(connectorId) ?? {
          connectorId,
          waiting: 0,
          sending: 0,
          oldestMs: undefined,
        };
        const length = await count(name, COUNT_MAX);
        if (kind === "sending") {
          byConnector.set(connectorId, { ...known, sending: known.sending + length });
          continue;
        }
        const oldestMs = earlier(known.oldestMs, await oldestIn(messages, name));
        byConnector.set(connectorId, { ...known, waiting: known.waiting + length, oldestMs });
      }
      return [...byConnector.values()];
    },
    async beat(carrierId, nowMs) {
      await carriers.updateOne(
        { _id: carrierId },
        { $max: { heard_at: new Date(nowMs) } },
        { upsert: true },
      );
    },
    async carriersReportedBefore(beforeMs) {
      const before = new Date(Math.min(beforeMs, DATE_MAX_MS));
      const found = await carriers.find({ heard_at: { $lt: before } }).toArray();
      return found.map(({ _id }) => _id);
    },
    async forgetCarrier(carrierId, beforeMs) {
      await carriers.deleteOne({ _id: carrierId, heard_at: { $lt: new Date(beforeMs) } });
    },
  });
}

/**
 * The guard: a message that another writer has removed from the queue, such as a cancel, no longer matches. The first
 * writer wins, and the other finds nothing to write.
 */
function guardedUpdates({ connectorId, priority, found }: ClaimBatch, claims: readonly Claim[]) {
  const queue = queueName(connectorId, priority);
  // One command for messages of one revision and one span.
  const groups = Map.groupBy(found.keys(), (at) => {
    const span = claims[at]?.openSpan;
    return `${found[at]?.revision}|${span?.fromMs}|${span?.untilMs}`;
  });
  return [...groups.values()].flatMap((places) => {
    const claim = claims[places[0] ?? 0];
    if (claim === undefined) return [];
    const $set = {
      phase: "sending" as const,
      queue: sendingName(connectorId, claim.carrierId),
      claim: toStoredClaim(claim),
    };
    const ids = places.flatMap((at) => found[at]?.id ?? []);
    const revision = found[places[0] ?? 0]?.revision ?? 0;
    const filter = { _id: { $in: ids }, queue, revision };
    return [{ updateMany: { filter, update: { $set, $inc: { revision: 1 } } } }];
  });
}

/** The claim of one message of a batch: with the span in which it may be submitted, if there is one. */
function claimOf({ claim, spanOf }: ClaimBatch, message: Message): Claim {
  const openSpan = spanOf(message);
  return openSpan === undefined ? claim : { ...claim, openSpan };
}

function isClaimable(
  document: MessageDocument | undefined,
  { connectorId, priority, nowMs }: QueueQuery,
): document is MessageDocument {
  if (document?.queue !== queueName(connectorId, priority)) return false;
  return (document.not_before?.getTime() ?? 0) <= nowMs;
}

/** Queue lengths are counted up to this. */
const COUNT_MAX = 100_000;
const TENANTS_MAX = 200;
/** The last instant a date can hold (ECMA-262 section 21.4.1.1). */
const DATE_MAX_MS = 8.64e15;

/** The most messages per tenant that are read to find the oldest one behind scheduled messages. */
const HEADS_MAX = 500;

/** The earliest start of waiting over the oldest messages of each tenant. */
async function oldestIn(
  messages: Collection<MessageDocument>,
  queue: string,
): Promise<number | undefined> {
  let oldestMs: number | undefined;
  const tenants = (await messages.distinct("tenant_id", { queue })).slice(0, TENANTS_MAX);
  for (const tenant_id of tenants) {
    const lowest = (count: number) =>
      messages
        .find({ queue, tenant_id }, { projection: { scheduled_at: 1, released_at: 1 } })
        .hint(INDEXES.queue)
        .sort({ _id: 1 })
        .limit(count)
        .toArray();
    let heads = await lowest(1);
    // A scheduled message waits from its due time, and one that was in quiet hours from their end, so messages with
    // later ids may have waited longer.
    const since = ({ scheduled_at, released_at }: (typeof heads)[number]) =>
      Math.max(scheduled_at?.getTime() ?? 0, released_at?.getTime() ?? 0);
    if (heads[0] !== undefined && since(heads[0]) > 0) heads = await lowest(HEADS_MAX);
    for (const head of heads) {
      oldestMs = earlier(oldestMs, Math.max(idTimeMs(head._id), since(head)));
    }
  }
  return oldestMs;
}

function earlier(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return Math.min(a, b);
}

/** Wraps every method: outages become `service_unavailable`. */
function guardAll(store: QueueStore): QueueStore {
  const entries = Object.entries(store).map(([name, method]) => [
    name,
    async (...args: never[]) => {
      try {
        return await (method as (...args: never[]) => Promise<unknown>)(...args);
      } catch (error) {
        throw wrapMongoError(error);
      }
    },
  ]);
  return Object.fromEntries(entries) as QueueStore;
}
