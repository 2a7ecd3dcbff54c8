/**
 * Events that no handler could process, kept in `dead_letters`. Operators list them, and replay them once the
 * cause is fixed.
 */
import type { Binary, Collection, Db, Filter } from "mongodb";
import { isUlid } from "../core/ids.ts";
import { checkCursor, pageLimit } from "../core/limits.ts";
import type { AuditLog } from "./audit-log.ts";
import type { Acknowledgement, Delivered } from "./consumer.ts";
import type { CollectionShape } from "./migration.ts";
import { guardMongo } from "./mongo-errors.ts";

/** One dead-lettered event. */
export type DeadLetter = {
  readonly id: string;
  readonly subject: string;
  readonly data: Uint8Array;
  readonly reason: string;
  readonly createdAtMs: number;
};

/** One database's dead letters. */
export type DeadLetters = {
  /** One page, oldest first, at most 1,000; the cursor is empty on the last one. */
  list(cursor: string, limit: number): Promise<{ letters: DeadLetter[]; nextCursor: string }>;
  /**
   * Handles the given events again, or all when `ids` is empty; returns how many were handled and removed.
   */
  replay(ids: readonly string[]): Promise<number>;
  count(): Promise<number>;
};

type DeadLetterDocument = {
  _id: string;
  durable: string;
  subject: string;
  data: Binary;
  reason: string;
  created_at: Date;
};

const YEAR_S = 366 * 86_400;

/** Dead letters hold whole events with numbers and bodies, so they expire as messages do. */
export const DEAD_LETTERS: CollectionShape = {
  name: "dead_letters",
  indexes: [{ name: "kept", key: { created_at: 1 }, expireAfterSeconds: YEAR_S }],
};

const REPLAY_BATCH = 100;
const LIMIT_MAX = 1000;

/** Opens the dead letters of a database; `handle` is the consumer's handler. */
export function createDeadLetters(
  db: Db,
  handle: (items: readonly Delivered[]) => Promise<readonly Acknowledgement[]>,
): DeadLetters {
  const collection: Collection<DeadLetterDocument> = db.collection("dead_letters");

  async function read(filter: Filter<DeadLetterDocument>, limit: number): Promise<DeadLetter[]> {
    const found = collection.find(filter).sort({ _id: 1 }).limit(limit).toArray();
    return (await guardMongo(found)).map(toLetter);
  }

  async function handleAgain(letters: readonly DeadLetter[]): Promise<number> {
    // Each was delivered before: a part of its effect may be done.
    const acknowledgements = await handle(letters.map((letter) => ({ ...letter, deliveries: 2 })));
    const handled = letters
      .filter((_, at) => acknowledgements[at]?.kind === "ack")
      .map(({ id }) => id);
    await guardMongo(collection.deleteMany({ _id: { $in: handled } }));
    return handled.length;
  }

  return {
    async list(cursor, asked) {
      checkCursor(cursor === "" || isUlid(cursor));
      const limit = pageLimit(asked, LIMIT_MAX);
      const found = await read({ _id: { $gt: cursor } }, limit + 1);
      const letters = found.slice(0, limit);
      return { letters, nextCursor: found.length > limit ? (letters.at(-1)?.id ?? "") : "" };
    },
    async replay(ids) {
      let replayed = 0;
      for (let after = ""; ; ) {
        const range = { _id: { $gt: after, ...(ids.length === 0 ? {} : { $in: [...ids] }) } };
        const letters = await read(range, REPLAY_BATCH);
        const last = letters.at(-1);
        if (last === undefined) return replayed;
        replayed += await handleAgain(letters);
        after = last.id;
      }
    },
    count: () => collection.estimatedDocumentCount(),
  };
}

/**
 * Replays for an operator, then writes one audit entry. The two are not one transaction: a crash between them leaves
 * the replay without an entry. The events' effects are on record themselves.
 */
export async function replayAudited(
  deadLetters: Pick<DeadLetters, "replay">,
  audit: AuditLog,
  ids: readonly string[],
): Promise<number> {
  const replayed = await deadLetters.replay(ids);
  const after = { replayed, ids: ids.length === 0 ? "all" : ids };
  if (replayed > 0) {
    await audit.write({ tenantId: "", subject: "dead_letters", before: undefined, after });
  }
  return replayed;
}

function toLetter(document: DeadLetterDocument): DeadLetter {
  return {
    id: document._id,
    subject: document.subject,
    data: document.data.buffer,
    reason: document.reason,
    createdAtMs: document.created_at.getTime(),
  };
}
