import type { Collection, Db } from "mongodb";
import { guardMongo, isDuplicateKey, wrapMongoError } from "../../shared/io/mongo-errors.ts";
import type { HealthStore } from "../app/health.ts";
import type { BindHealth, Verdict } from "../domain/health.ts";

type ReportDocument = { _id: string; report: BindHealth; reported_at: Date };
type VerdictDocument = Omit<Verdict, "connectorId"> & { _id: string };

/** Makes the MongoDB store of reports (kept a minute by a TTL index) and judgements. */
export function createHealthStore(db: Db): HealthStore {
  const reports: Collection<ReportDocument> = db.collection("bind_health");
  const verdicts: Collection<VerdictDocument> = db.collection("connector_health");
  // What is lost here is reported again in a second; waiting for the disk would buy nothing.
  const writeConcern = { w: 1, journal: false } as const;

  return {
    async saveReports(newest) {
      if (newest.length === 0) return;
      const writes = newest.map((report) => {
        const _id = `${report.connectorId}/${report.bind}`;
        const replacement = { report, reported_at: new Date(report.reportedAtMs) };
        return { replaceOne: { filter: { _id }, replacement, upsert: true } };
      });
      await guardMongo(reports.bulkWrite(writes, { ordered: false, writeConcern }));
    },
    async listReports() {
      const documents = await guardMongo(reports.find().sort({ _id: 1 }).limit(10_000).toArray());
      // MongoDB keeps "not told" as null.
      return documents.map(({ report }) => ({
        ...report,
        answers: report.answers ?? undefined,
        failures: report.failures ?? undefined,
      }));
    },
    async listVerdicts() {
      const documents = await guardMongo(verdicts.find().toArray());
      // An older version kept no counts.
      return documents.map(({ _id, ...rest }) => ({
        ...rest,
        counted: rest.counted ?? [],
        connectorId: _id,
      }));
    },
    async saveVerdicts(judged) {
      if (judged.length === 0) return;
      const writes = judged.map(({ before, after: { connectorId, ...replacement } }) => {
        // A judgement of the same state and age as the one read has not been overtaken.
        const { state, sinceMs, strikes } = before;
        const filter = { _id: connectorId, state, sinceMs, strikes };
        return { replaceOne: { filter, replacement, upsert: true } };
      });
      try {
        await verdicts.bulkWrite(writes, { ordered: false });
      } catch (error) {
        // One that was overtaken is no longer found, and cannot be inserted either.
        if (!isDuplicateKey(error)) throw wrapMongoError(error);
      }
    },
    async removeVerdicts(connectorIds) {
      await guardMongo(verdicts.deleteMany({ _id: { $in: [...connectorIds] } }));
    },
  };
}
