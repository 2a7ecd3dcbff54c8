import type { Db } from "mongodb";
import { guardMongo } from "../../shared/io/mongo-errors.ts";
import type { CheckBreach, CheckResult, CheckStore } from "../app/checks.ts";

type CheckDocument = {
  _id: string;
  tenant_id: string;
  person: string;
  started_at: Date;
  finished_at: Date;
  expires_at: Date;
  ok: boolean;
  breaches: { invariant: number; what: string; ids: string[] }[];
  unlisted: number;
  unfinished: string[];
  compared: { name: string; count: number }[];
};

const KEEP_MS = 90 * 86_400_000;

/** The MongoDB adapter of the storage of check results. */
export function createCheckStore(db: Db): CheckStore {
  const checks = db.collection<CheckDocument>("checks");
  return {
    async insert(result) {
      await guardMongo(checks.insertOne(toDocument(result)));
    },
    async list(limit) {
      const found = checks.find().sort({ _id: -1 }).limit(limit);
      return (await guardMongo(found.toArray())).map(toResult);
    },
  };
}

function toDocument(result: CheckResult): CheckDocument {
  return {
    _id: result.id,
    tenant_id: result.tenantId,
    person: result.person,
    started_at: new Date(result.startedAtMs),
    finished_at: new Date(result.finishedAtMs),
    expires_at: new Date(result.finishedAtMs + KEEP_MS),
    ok: result.isOk,
    breaches: result.breaches.map((one: CheckBreach) => ({ ...one, ids: [...one.ids] })),
    unlisted: result.unlisted,
    unfinished: [...result.unfinished],
    // Names are the caller's: as values they cannot be paths or operators.
    compared: Object.entries(result.compared).map(([name, count]) => ({ name, count })),
  };
}

function toResult(document: CheckDocument): CheckResult {
  return {
    id: document._id,
    tenantId: document.tenant_id,
    person: document.person,
    startedAtMs: document.started_at.getTime(),
    finishedAtMs: document.finished_at.getTime(),
    isOk: document.ok,
    breaches: document.breaches,
    unlisted: document.unlisted,
    unfinished: document.unfinished,
    compared: Object.fromEntries(document.compared.map(({ name, count }) => [name, count])),
  };
}
