import { Binary, type Db, type MongoClient } from "mongodb";
import type { OperatorRole } from "../../shared/core/operator-roles.ts";
import type { AuditLog } from "../../shared/io/audit-log.ts";
import { runTransaction } from "../../shared/io/mongo.ts";
import { guardMongo } from "../../shared/io/mongo-errors.ts";
import type { OperatorStore } from "../app/operator-ports.ts";
import type { Operator, OperatorSession } from "../domain/operator.ts";
import { type OpenedDocument, openedDocument, toOpened } from "./session-documents.ts";

/** `_id` is the e-mail address. */
type OperatorDocument = {
  _id: string;
  role: OperatorRole;
  created_at: Date;
  last_sign_in_at?: Date;
};

/** `_id` is the SHA-256 of the token. */
type LinkDocument = { _id: Binary; person: string; expires_at: Date };

type SessionDocument = OpenedDocument & { person: string };

/** The tenant of audit entries about operators: they belong to no tenant. */
const NO_TENANT = "";

/** The MongoDB adapter of the storage of operators. */
export function createOperatorStore(client: MongoClient, db: Db, audit: AuditLog): OperatorStore {
  const operators = db.collection<OperatorDocument>("operators");
  const links = db.collection<LinkDocument>("operator_links");
  const sessions = db.collection<SessionDocument>("operator_sessions");
  const write = (
    subject: string,
    change: { before: object | undefined; after: object | undefined },
    session: Parameters<AuditLog["write"]>[1],
  ) => audit.write({ tenantId: NO_TENANT, subject, ...change }, session);

  return {
    addLink: (hash, link, decide, nowMs) =>
      runTransaction(client, async (session) => {
        const { person } = link;
        const old = await operators.findOne({ _id: person }, { session });
        const before = old === null ? undefined : toOperator(old);
        const role = decide(before?.role);
        const created = { created_at: new Date(nowMs) };
        await operators.updateOne(
          { _id: person },
          { $set: { role }, $setOnInsert: created },
          { upsert: true, session },
        );
        const expires_at = new Date(link.expiresAtMs);
        await links.insertOne({ _id: new Binary(hash), person, expires_at }, { session });
        const after = { ...(before ?? { person, createdAtMs: nowMs }), role };
        const linked = { ...after, linkExpiresAtMs: link.expiresAtMs };
        await write(person, { before, after: linked }, session);
        return after;
      }),
    async findLink(hash) {
      const document = await guardMongo(links.findOne({ _id: new Binary(hash) }));
      if (document === null) return undefined;
      return { person: document.person, expiresAtMs: document.expires_at.getTime() };
    },
    openSession: (linkHash, opened, secretHash) =>
      runTransaction(client, async (session) => {
        const used = await links.deleteOne({ _id: new Binary(linkHash) }, { session });
        if (used.deletedCount === 0) return undefined;
        // Writing the operator makes this transaction conflict with a removal at the same moment.
        const operator = await operators.findOneAndUpdate(
          { _id: opened.person },
          { $set: { last_sign_in_at: new Date(opened.createdAtMs) } },
          { session, returnDocument: "after" },
        );
        if (operator === null) return undefined;
        const { person } = opened;
        await sessions.insertOne({ ...openedDocument(opened, secretHash), person }, { session });
        await write(opened.id, { before: undefined, after: opened }, session);
        return toOperator(operator);
      }),
    async findByHash(hash) {
      const document = await guardMongo(sessions.findOne({ hash: new Binary(hash) }));
      return document === null ? undefined : toSession(document);
    },
    async findSession(id) {
      const document = await guardMongo(sessions.findOne({ _id: id }));
      return document === null ? undefined : toSession(document);
    },
    async listSessions(person, max) {
      const found = sessions.find({ person }).sort({ _id: -1 }).limit(max);
      return (await guardMongo(found.toArray())).map(toSession);
    },
    endSession: (id) =>
      runTransaction(client, async (session) => {
        const ended = await sessions.findOneAndDelete({ _id: id }, { session });
        if (ended === null) return;
        await write(id, { before: toSession(ended), after: undefined }, session);
      }),
    async touchSession(id, nowMs) {
      const last_seen_at = new Date(nowMs);
      const earlier = { _id: id, last_seen_at: { $lt: last_seen_at } };
      await guardMongo(sessions.updateOne(earlier, { $set: { last_seen_at } }));
    },
    async findOperator(person) {
      const document = await guardMongo(operators.findOne({ _id: person }));
      return document === null ? undefined : toOperator(document);
    },
    async listOperators(max) {
      const found = operators.find().sort({ _id: 1 }).limit(max);
      return (await guardMongo(found.toArray())).map(toOperator);
    },
    removeOperator: (person) =>
      runTransaction(client, async (session) => {
        const removed = await operators.findOneAndDelete({ _id: person }, { session });
        if (removed === null) return false;
        await sessions.deleteMany({ person }, { session });
        await links.deleteMany({ person }, { session });
        await write(person, { before: toOperator(removed), after: undefined }, session);
        return true;
      }),
  };
}

function toOperator({ _id, role, created_at, last_sign_in_at }: OperatorDocument): Operator {
  return {
    person: _id,
    role,
    createdAtMs: created_at.getTime(),
    ...(last_sign_in_at === undefined ? {} : { lastSignInAtMs: last_sign_in_at.getTime() }),
  };
}

function toSession(document: SessionDocument): OperatorSession {
  return { ...toOpened(document), person: document.person };
}
