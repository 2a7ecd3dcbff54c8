import type { Collection, Db } from "mongodb";
import { wrapMongoError } from "../../shared/io/mongo-errors.ts";
import { SNAPSHOT } from "../../shared/io/snapshot.ts";
import { queueName, sendingName } from "../domain/queueing.ts";
import type { QueueFigures, QueueStore, Taking } from "../service/ports.ts";
import { fromDocument, type MessageDocument } from "./documents.ts";
import { INDEXES } from "./shape.ts";

const LOCAL = { readConcern: { level: "local" } } as const;
const MAJORITY = { w: "majority", j: true } as const;

/**
 * Makes the queue over the messages of one database. It is the partial index `queue, tenant_id,
 * _id, not_before`: entering, claiming and leaving it is writing the message itself, so no second
 * store can disagree.
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

  async function queueNames(): Promise<string[]> {
    return (await messages.distinct("queue", { queue: { $gt: "" } }, LOCAL)) as string[];
  }

  return guardAll({
    queueNames,
    waitingTenants: (connectorId, lane) =>
      messages.distinct("tenant_id", { queue: queueName(connectorId, lane) }, LOCAL),
    async findWaiting(connectorId, lane, { tenantIds, fromId, nowMs, limit }) {
      const documents = await messages
        .find(
          {
            queue: queueName(connectorId, lane),
            tenant_id: { $in: [...tenantIds] },
            ...(fromId === "" ? {} : { _id: { $gte: fromId } }),
            not_before: { $lte: new Date(nowMs) },
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
    async findNamed(looks) {
      const ids = looks.flatMap((look) => look.ids);
      const names = looks.map(({ connectorId, lane }) => queueName(connectorId, lane));
      const latest = new Date(Math.max(...looks.map(({ nowMs }) => nowMs)));
      const documents = await messages
        .find({ _id: { $in: ids }, queue: { $in: names }, not_before: { $lte: latest } }, LOCAL)
        .batchSize(ids.length + 1)
        .hint({ _id: 1 })
        .toArray();
      const found = new Map(documents.map((document) => [document._id, document]));
      return looks.map((look, at) =>
        look.ids.flatMap((id) => {
          const document = found.get(id);
          if (document === undefined || document.queue !== names[at]) return [];
          return startOf(document) <= look.nowMs ? [fromDocument(document)] : [];
        }),
      );
    },
    async claim(takings) {
      const { modifiedCount } = await messages.bulkWrite(takings.map(takeOver), {
        ordered: false,
        writeConcern: MAJORITY,
      });
      const wanted = takings.reduce((sum, { found }) => sum + found.length, 0);
      if (modifiedCount === wanted) {
        return takings.map(({ found, claim }) =>
          found.map((message) => ({ ...message, phase: "sending" as const, claim })),
        );
      }
      const ids = takings.flatMap(({ found }) => found.map(({ id }) => id));
      const claimIds = takings.map(({ claim }) => claim.id);
      const documents = await messages
        .find({ _id: { $in: ids }, "claim.id": { $in: claimIds } })
        .sort({ _id: 1 })
        .toArray();
      const byClaim = Map.groupBy(documents.map(fromDocument), (message) => message.claim?.id);
      return takings.map(({ claim }) => byClaim.get(claim.id) ?? []);
    },
    async sendingNames(carrierId) {
      const suffix = `|sending|${carrierId}`;
      return (await queueNames()).filter((name) => name.endsWith(suffix));
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
    async countWaiting(connectorId, max) {
      const single = await count(queueName(connectorId, "single"), max);
      return single + (await count(queueName(connectorId, "bulk"), max));
    },
    async figures() {
      const byConnector = new Map<string, QueueFigures>();
      for (const name of await queueNames()) {
        const [connectorId = "", kind = ""] = name.split("|");
        const known = byConnector.get(connectorId) ?? {
          connectorId,
          waiting: 0,
          sending: 0,
          oldestId: undefined,
        };
        const length = await count(name, FIGURE_MAX);
        if (kind === "sending") {
          byConnector.set(connectorId, { ...known, sending: known.sending + length });
          continue;
        }
        const oldestId = lowest(known.oldestId, await oldestIn(messages, name));
        byConnector.set(connectorId, { ...known, waiting: known.waiting + length, oldestId });
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
    async carriersHeardBefore(beforeMs) {
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
 * What leaves the queue by another hand, a cancel above all, fails this guard; whichever of the two
 * writes first wins, and the other finds nothing to write.
 */
function takeOver({ connectorId, lane, found, claim }: Taking) {
  const ids = found.map(({ id }) => id);
  const filter = { _id: { $in: ids }, queue: queueName(connectorId, lane) };
  const $set = {
    phase: "sending" as const,
    queue: sendingName(connectorId, claim.carrierId),
    claim: { id: claim.id, carrier: claim.carrierId, at: new Date(claim.atMs) },
  };
  return { updateMany: { filter, update: { $set, $inc: { revision: 1 } } } };
}

function startOf({ not_before }: MessageDocument): number {
  return not_before?.getTime() ?? 0;
}

/** Figures count no further: a longer queue reads as this long. */
const FIGURE_MAX = 100_000;
const TENANTS_MAX = 200;
/** The last instant a date can hold (ECMA-262 section 21.4.1.1). */
const DATE_MAX_MS = 8.64e15;

async function oldestIn(
  messages: Collection<MessageDocument>,
  queue: string,
): Promise<string | undefined> {
  let oldest: string | undefined;
  const tenants = (await messages.distinct("tenant_id", { queue })).slice(0, TENANTS_MAX);
  for (const tenant_id of tenants) {
    const [first] = await messages
      .find({ queue, tenant_id }, { projection: { _id: 1 } })
      .hint(INDEXES.queue)
      .sort({ _id: 1 })
      .limit(1)
      .toArray();
    oldest = lowest(oldest, first?._id);
  }
  return oldest;
}

function lowest(a: string | undefined, b: string | undefined): string | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return a < b ? a : b;
}

/** Wraps every method so that the driver's outages become `service_unavailable`. */
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
