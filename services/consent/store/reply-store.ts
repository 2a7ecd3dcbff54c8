import type { ClientSession, Db } from "mongodb";
import { guardMongo } from "../../shared/io/mongo-errors.ts";
import type { Reply, ReplyStore } from "../app/ports.ts";

type ReplyDocument = {
  _id: string;
  tenant_id: string;
  from: string;
  to: string;
  body: string;
  created_at: Date;
};

/** When a tenant may reply to a number again. */
type RepliedDocument = { _id: string; expires_at: Date };

/** A number gets one reply in this time. */
const REPLY_PAUSE_MS = 86_400_000;

/** Stores replies, except those whose number got one in the last 24 hours. */
export async function writeReplies(
  db: Db,
  replies: readonly Reply[],
  session: ClientSession,
): Promise<void> {
  if (replies.length === 0) return;
  const replied = db.collection<RepliedDocument>("replied");
  const ids = [...new Set(replies.map(numberOf))];
  const last = await replied.find({ _id: { $in: ids } }, { session }).toArray();
  const until = new Map(last.map(({ _id, expires_at }) => [_id, expires_at.getTime()]));
  const sent = replies.filter((reply) => {
    const id = numberOf(reply);
    if ((until.get(id) ?? 0) > reply.createdAtMs) return false;
    until.set(id, reply.createdAtMs + REPLY_PAUSE_MS);
    return true;
  });
  if (sent.length === 0) return;
  await replied.bulkWrite(
    sent.map((reply) => ({
      replaceOne: {
        filter: { _id: numberOf(reply) },
        replacement: { expires_at: new Date(reply.createdAtMs + REPLY_PAUSE_MS) },
        upsert: true,
      },
    })),
    { session, ordered: false },
  );
  await db.collection<ReplyDocument>("replies").insertMany(sent.map(toDocument), { session });
}

function numberOf({ tenantId, to }: Reply): string {
  return `${tenantId}|${to}`;
}

function toDocument({ id, tenantId, from, to, body, createdAtMs }: Reply): ReplyDocument {
  const created_at = new Date(createdAtMs);
  return { _id: id, tenant_id: tenantId, from, to, body, created_at };
}

/** Replies that are to be sent. */
export function createReplyStore(db: Db): ReplyStore {
  const replies = db.collection<ReplyDocument>("replies");
  return {
    async due(limit) {
      const found = await guardMongo(replies.find().sort({ created_at: 1 }).limit(limit).toArray());
      return found.map(({ _id, tenant_id, from, to, body, created_at }) => {
        const createdAtMs = created_at.getTime();
        return { id: _id, tenantId: tenant_id, from, to, body, createdAtMs };
      });
    },
    async done(id) {
      await guardMongo(replies.deleteOne({ _id: id }));
    },
  };
}
