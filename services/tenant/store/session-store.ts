import { Binary, type ClientSession, type Db, type MongoClient } from "mongodb";
import { invalidField } from "../../shared/core/limits.ts";
import type { AuditLog } from "../../shared/io/audit-log.ts";
import { runTransaction } from "../../shared/io/mongo.ts";
import { guardMongo, isDuplicateKey, wrapMongoError } from "../../shared/io/mongo-errors.ts";
import type { SessionStore } from "../app/identity-ports.ts";
import type { Session } from "../domain/session.ts";
import type { Attempts } from "../domain/sign-in-attempts.ts";
import { type MembershipDocument, membershipId } from "./people-store.ts";
import { spendCode } from "./second-factor-store.ts";
import {
  type LinkDocument,
  linkDocument,
  type SessionDocument,
  sessionDocument,
  toLink,
  toSession,
} from "./session-documents.ts";

/** Attempts of one e-mail address, one caller's address or one person; `_id` is the key. */
type AttemptsDocument = { _id: string; count: number; next_at: Date; expires_at: Date };

/** The MongoDB adapter of the storage of links, sessions and attempts. */
export function createSessionStore(client: MongoClient, db: Db, audit: AuditLog): SessionStore {
  const links = db.collection<LinkDocument>("sign_in_links");
  const sessions = db.collection<SessionDocument>("sessions");
  const attempts = db.collection<AttemptsDocument>("sign_in_attempts");
  const memberships = db.collection<MembershipDocument>("memberships");
  const tenants = db.collection<{ _id: string; email_verified: boolean; version: number }>(
    "tenants",
  );

  /**
   * Counts a session in its person's membership; false without one. The write conflicts with a removal of the member
   * at the same moment: otherwise the session would remain, and be open again after another invitation.
   */
  async function countSession(opened: Session, session: ClientSession): Promise<boolean> {
    const { tenantId, personId } = opened;
    if (personId === undefined) return true;
    const own = { _id: membershipId(tenantId, personId) };
    const counted = { $inc: { sessions_opened: 1 } };
    return (await memberships.updateOne(own, counted, { session })).matchedCount === 1;
  }

  return {
    async insertLink(hash, link) {
      await runTransaction(client, async (session) => {
        await links.insertOne(linkDocument(hash, link), { session });
        const { tenantId = "", kind, role, name, expiresAtMs } = link;
        // A request for a sign-in is no change by a caller: anybody may ask.
        if (kind !== "portal") return;
        const after = { kind, role, name, expiresAtMs };
        await audit.write({ tenantId, subject: tenantId, before: undefined, after }, session);
      });
    },
    async findLink(hash) {
      const document = await guardMongo(links.findOne({ _id: new Binary(hash) }));
      return document === null ? undefined : toLink(document);
    },
    openSession: (linkHash, opened, secretHash, { verifiesEmail, used: code }) =>
      runTransaction(client, async (session) => {
        const used = await links.deleteOne({ _id: new Binary(linkHash) }, { session });
        if (used.deletedCount === 0 || !(await countSession(opened, session))) return false;
        await sessions.insertOne(sessionDocument(opened, secretHash), { session });
        const { tenantId, personId } = opened;
        if (code !== undefined && !(await spendCode(db, personId ?? "", code, session))) {
          throw invalidField("code", "invalid_value", "was used before");
        }
        if (personId !== undefined) {
          await memberships.updateOne(
            { _id: membershipId(tenantId, personId), joined_at: { $exists: false } },
            { $set: { joined_at: new Date(opened.createdAtMs) } },
            { session },
          );
        }
        if (verifiesEmail) {
          await tenants.updateOne(
            { _id: tenantId, email_verified: false },
            { $set: { email_verified: true }, $inc: { version: 1 } },
            { session },
          );
        }
        await audit.write(
          { tenantId, subject: opened.id, before: undefined, after: opened },
          session,
        );
        return true;
      }),
    replaceSession: (before, after, secretHash) =>
      runTransaction(client, async (session) => {
        if (!(await countSession(after, session))) return undefined;
        const ended = await sessions.findOneAndDelete({ _id: before.id }, { session });
        if (ended === null) return undefined;
        await sessions.insertOne(sessionDocument(after, secretHash), { session });
        const { tenantId, id: subject } = after;
        await audit.write({ tenantId, subject, before, after }, session);
        return Buffer.from(ended.hash.buffer);
      }),
    async findSessions(hashes) {
      const hash = { $in: hashes.map((one) => new Binary(one)) };
      const documents = await guardMongo(sessions.find({ hash }).toArray());
      const hexOf = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");
      const found = new Map(documents.map((one) => [hexOf(one.hash.buffer), toSession(one)]));
      return hashes.map((one) => found.get(hexOf(one)));
    },
    async findSession(id) {
      const document = await guardMongo(sessions.findOne({ _id: id }));
      return document === null ? undefined : toSession(document);
    },
    async listSessions(personId, max) {
      const found = sessions.find({ person_id: personId }).sort({ _id: -1 }).limit(max);
      return (await guardMongo(found.toArray())).map(toSession);
    },
    endSession: (id) =>
      runTransaction(client, async (session) => {
        const ended = await sessions.findOneAndDelete({ _id: id }, { session });
        if (ended === null) return undefined;
        const before = toSession(ended);
        const { tenantId } = before;
        await audit.write({ tenantId, subject: id, before, after: undefined }, session);
        return Buffer.from(ended.hash.buffer);
      }),
    async touchSessions(ids, nowMs) {
      const last_seen_at = new Date(nowMs);
      await guardMongo(
        sessions.updateMany(
          { _id: { $in: [...ids] }, last_seen_at: { $lt: last_seen_at } },
          { $set: { last_seen_at } },
        ),
      );
    },
    async findAttempts(key) {
      const document = await guardMongo(attempts.findOne({ _id: key }));
      return document === null ? undefined : toAttempts(document);
    },
    async storeAttempts(key, before, after) {
      const fields = {
        count: after.count,
        next_at: new Date(after.nextAtMs),
        expires_at: new Date(after.forgetAtMs),
      };
      try {
        if (before === undefined) {
          await attempts.insertOne({ _id: key, ...fields });
          return true;
        }
        // Compare the time too: after a reset another call may have stored the same count, with a later time.
        const { count, forgetAtMs } = before;
        const unchanged = { _id: key, count, expires_at: new Date(forgetAtMs) };
        return (await attempts.updateOne(unchanged, { $set: fields })).matchedCount === 1;
      } catch (error) {
        if (isDuplicateKey(error)) return false;
        throw wrapMongoError(error);
      }
    },
    async forgetAttempts(key) {
      await guardMongo(attempts.deleteOne({ _id: key }));
    },
  };
}

function toAttempts(document: AttemptsDocument): Attempts {
  return {
    count: document.count,
    nextAtMs: document.next_at.getTime(),
    forgetAtMs: document.expires_at.getTime(),
  };
}
