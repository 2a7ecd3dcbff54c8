import type { Db } from "mongodb";
import { asAppError } from "../../services/shared/core/errors.ts";
import { AUDIT, createAuditLog } from "../../services/shared/io/audit-log.ts";
import { openTestDatabase, type TestDatabase } from "./test-database.ts";

/** An entry of the audit trail: both sides as objects, undefined for a side that is missing. */
type AuditSides = { readonly before: unknown; readonly after: unknown };

/** The database of the enclosing `describe`, for the suite of a store port. */
export function useStoreDatabase(name: string, migrate: (db: Db) => Promise<unknown>) {
  let database: TestDatabase | undefined;
  before(async () => {
    database = await openTestDatabase(name, migrate);
  });
  after(() => database?.close());
  const mongo = () => {
    if (database === undefined) throw new Error("the database is not open");
    return database.mongo;
  };
  return {
    /** The arguments of a store that writes an audit trail. */
    parts() {
      const { client, db } = mongo();
      return { client, db, audit: createAuditLog(db, 86_400_000) };
    },
    /** The changes of a subject in the audit trail, in their order. */
    async auditOf(subject: string): Promise<AuditSides[]> {
      const entries = await mongo().db.collection("audit").find({ subject }).sort({ _id: 1 });
      const read = (text: string) => (text === "" ? undefined : JSON.parse(text));
      return (await entries.toArray()).map(({ before, after }) => ({
        ...{ before: read(before), after: read(after) },
      }));
    },
    /** Runs a call while the database rejects audit entries of a subject; returns the code of its error. */
    async withoutAudit(subject: string, work: () => Promise<unknown>): Promise<string> {
      const rejecting = { collMod: AUDIT.name, validator: { subject: { $ne: subject } } };
      await mongo().db.command(rejecting);
      const code = await codeOf(work());
      await mongo().db.command({ ...rejecting, validator: { $jsonSchema: AUDIT.validator } });
      return code;
    },
    /** The instant at which MongoDB removes a document by the age index of its collection. */
    async removalMs(collection: string, id: unknown): Promise<number> {
      const { db } = mongo();
      const indexes = await db.collection(collection).indexes();
      const byAge = indexes.find(({ expireAfterSeconds }) => expireAfterSeconds !== undefined);
      const [field = ""] = Object.keys(byAge?.key ?? {});
      const document = await db.collection(collection).findOne({ _id: id as never });
      const from: unknown = document?.[field];
      if (!(from instanceof Date)) throw new Error(`${collection} removes no such document`);
      return from.getTime() + (byAge?.expireAfterSeconds ?? 0) * 1000;
    },
  };
}

/** The code of a call's error; "done" without one. */
export function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => "done",
    (error: unknown) => asAppError(error).code,
  );
}
