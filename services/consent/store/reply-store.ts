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

/** The last reply to a number, of each tenant. */
type RepliedDocument = { _id: string; expires_at: Date };

/** A number gets one reply in this time. */
const REPLY_PAUSE_MS = 86_400_000;

/** Stores a reply, unless its number got one in the last 24 hours. */
export async function writeReply(db: Db, reply: Reply, session: ClientSession): Promise<void> {
  const replied = db.collection<RepliedDocument>("replied");
  const _id = `${reply.tenantId}|${reply.to}`;
  const last = await replied.findOne({ _id }, { session });
  if (last !== null && last.expires_at.getTime() > reply.createdAtMs) return;
  const expires_at = new Date(reply.createdAtMs + REPLY_PAUSE_MS);
  await replied.replaceOne({ _id }, { expires_at }, { session, upsert: true });
  const { id, tenantId, from, to, body, createdAtMs } = reply;
  const created_at = new Date(createdAtMs);
  await db
    .collection<ReplyDocument>("replies")
    .insertOne({ _id: id, tenant_id: tenantId, from, to, body, created_at }, { session });
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
