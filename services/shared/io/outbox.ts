/**
 * The transactional outbox. Events are written to the `outbox` collection in the transaction of the change, one
 * document per batch, and published after the commit.
 *
 * Crash before the commit: nothing happened. Crash after it: the document exists, and the sweeper of any
 * replica publishes it. Crash between publish and removal: the events are published again with the same ids,
 * and the stream or the consumer drops the duplicates.
 */
import { type ClientSession, type Collection, type Db, Binary as MongoBinary } from "mongodb";
import { ulid } from "ulid";
import { type Clock, systemClock } from "../core/clock.ts";
import type { Logger } from "../core/logger.ts";
import { createBatcher } from "../flow/batcher.ts";
import { startLoop } from "../flow/periodic.ts";
import type { Nats } from "./nats.ts";
import { publishAll, type StreamItem } from "./publisher.ts";

type OutboxDocument = {
  _id: string;
  created_at: Date;
  items: { id: string; subject: string; data: MongoBinary; traceparent?: string }[];
};

/** The events that a transaction wrote; publish them after its commit. */
export type OutboxTicket = { readonly id: string; readonly items: readonly StreamItem[] };

/** A service's outbox. */
export type Outbox = {
  /** Writes items in the caller's transaction; publish the ticket after the commit. */
  write(items: readonly StreamItem[], session: ClientSession): Promise<OutboxTicket | undefined>;
  /** Publishes soon, without waiting. It may fail or drop the ticket: the sweeper has the document. */
  publish(ticket: OutboxTicket | undefined): void;
  /** Documents not yet published, and the age of the oldest in milliseconds; for metrics. */
  backlog(): Promise<{ count: number; oldestMs: number }>;
  close(): Promise<void>;
};

/** Tokens of a NATS subject, separated by dots, without wildcards. */
const SUBJECT = /^[\w-]+(?:\.[\w-]+)*$/;
/** A document older than this was left by a crash or an outage; its publisher no longer handles it. */
const SWEEP_AGE_MS = 3000;
/**
 * A document dated further ahead than replicas' clocks differ was written before a clock was set back.
 */
const SWEEP_AHEAD_MS = 10_000;

/**
 * The limit of events in memory that wait for the stream; the sweeper publishes the others. Without it an
 * outage would keep all accepted events in memory as well as in the database.
 */
const WAITING_MAX = 16_384;

/**
 * Removes published documents together, at this interval: a delete for each would slow down every message. Far
 * below the age at which the sweeper would publish them again.
 */
const REMOVE_PACE_MS = 250;

/** Creates the outbox of one database. */
export function createOutbox(options: {
  readonly db: Db;
  readonly nats: Nats;
  readonly log: Logger;
  readonly sweepIntervalMs?: number;
  readonly clock?: Clock;
}): Outbox {
  const { db, nats, log, sweepIntervalMs = 1000, clock = systemClock } = options;
  const collection: Collection<OutboxDocument> = db.collection("outbox");

  let waiting = 0;
  const publisher = createBatcher<OutboxTicket, void>({
    name: "outbox publisher",
    batchMax: 64,
    queueMax: 4096,
    concurrency: 2,
    isTransient: () => true,
    async flush(tickets) {
      await publishAll(
        nats.connection,
        tickets.flatMap((ticket) => ticket.items),
      );
      remove(tickets.map((ticket) => ticket.id));
      return tickets.map(() => undefined);
    },
  });

  const remover = createBatcher<readonly string[], void>({
    name: "outbox remover",
    batchMax: 1024,
    queueMax: 4096,
    minIntervalMs: REMOVE_PACE_MS,
    isTransient: () => true,
    async flush(published) {
      await collection.deleteMany({ _id: { $in: published.flat() } });
      return published.map(() => undefined);
    },
  });

  function remove(ids: readonly string[]): void {
    remover.add(ids).catch((error: unknown) => {
      log.warn({ error, documents: ids.length }, "the sweeper will remove published documents");
    });
  }

  async function sweep(): Promise<boolean> {
    const nowMs = clock.now();
    const [before, after] = [new Date(nowMs - SWEEP_AGE_MS), new Date(nowMs + SWEEP_AHEAD_MS)];
    const documents = await collection
      .find({ $or: [{ created_at: { $lt: before } }, { created_at: { $gt: after } }] })
      .sort({ created_at: 1 })
      .limit(64)
      .toArray();
    if (documents.length === 0) return false;
    for (const document of documents) {
      await publishAll(nats.connection, document.items.map(toItem));
    }
    await collection.deleteMany({ _id: { $in: documents.map((document) => document._id) } });
    log.info({ documents: documents.length }, "the sweeper published events");
    return documents.length === 64;
  }

  const sweeper = startLoop({ name: "outbox", intervalMs: sweepIntervalMs, log, work: sweep });

  return {
    async write(items, session) {
      if (items.length === 0) return undefined;
      for (const { subject } of items) {
        // The server closes the connection at an invalid subject, each time that it is published.
        if (!SUBJECT.test(subject)) throw new Error(`not a valid subject for an event: ${subject}`);
      }
      const id = ulid();
      await collection.insertOne(
        {
          _id: id,
          created_at: new Date(clock.now()),
          items: items.map((item) => ({
            id: item.id,
            subject: item.subject,
            data: new MongoBinary(item.data),
            ...(item.traceparent === undefined ? {} : { traceparent: item.traceparent }),
          })),
        },
        { session },
      );
      return { id, items };
    },
    publish(ticket) {
      if (ticket === undefined || waiting >= WAITING_MAX) return;
      const events = ticket.items.length;
      waiting += events;
      publisher
        .add(ticket)
        .catch((error: unknown) => {
          log.warn({ error, events }, "the sweeper will publish the events");
        })
        .finally(() => {
          waiting -= events;
        });
    },
    async backlog() {
      const [count, oldest] = await Promise.all([
        collection.estimatedDocumentCount(),
        // Covered by the index alone: a document may hold megabytes.
        collection
          .find({}, { projection: { _id: 0, created_at: 1 } })
          .sort({ created_at: 1 })
          .limit(1)
          .toArray(),
      ]);
      const since = oldest[0]?.created_at.getTime();
      return { count, oldestMs: since === undefined ? 0 : clock.now() - since };
    },
    async close() {
      await sweeper.close();
      await publisher.close();
      await remover.close();
    },
  };
}

/** The outbox's index; part of each owner's migration. */
export async function migrateOutbox(db: Db): Promise<void> {
  await db.collection("outbox").createIndex({ created_at: 1 }, { name: "created_at" });
}

function toItem(item: OutboxDocument["items"][number]): StreamItem {
  const { id, subject, data, traceparent } = item;
  return { id, subject, data: data.buffer, traceparent };
}
