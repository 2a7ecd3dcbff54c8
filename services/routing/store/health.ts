import type { Collection, Db } from "mongodb";
import { guardMongo, isDuplicateKey, wrapMongoError } from "../../shared/io/mongo-errors.ts";
import type { HealthStore } from "../app/ports.ts";
import type { DeliveryHealth } from "../domain/delivery-health.ts";
import type { BindHealth, ConnectorHealth } from "../domain/health.ts";

type ReportDocument<Report> = { _id: string; report: Report; reported_at: Date };
type HealthDocument = Omit<ConnectorHealth, "connectorId"> & { _id: string };

/** The MongoDB store of reports (a TTL index removes them after a minute) and connector health. */
export function createHealthStore(db: Db): HealthStore {
  const reports: Collection<ReportDocument<BindHealth>> = db.collection("bind_health");
  const deliveryHealth: Collection<ReportDocument<DeliveryHealth>> =
    db.collection("delivery_health");
  const connectorHealth: Collection<HealthDocument> = db.collection("connector_health");
  // A lost report is followed by another one a second later, so do not wait for the disk.
  const writeConcern = { w: 1, journal: false } as const;

  return {
    async saveReports(newest) {
      if (newest.length === 0) return;
      const writes = newest.map((report) => replaceReport(report, report.bind));
      await guardMongo(reports.bulkWrite(writes, { ordered: false, writeConcern }));
    },
    async listReports() {
      const documents = await guardMongo(reports.find().sort({ _id: 1 }).limit(10_000).toArray());
      // MongoDB stores undefined as null.
      return documents.map(({ report }) => ({
        ...report,
        answers: report.answers ?? undefined,
        failures: report.failures ?? undefined,
        adaptiveRate: report.adaptiveRate ?? undefined,
      }));
    },
    async saveDeliveries(newest) {
      if (newest.length === 0) return;
      const writes = newest.map((report) => replaceReport(report, report.country));
      await guardMongo(deliveryHealth.bulkWrite(writes, { ordered: false, writeConcern }));
    },
    async listDeliveries() {
      const found = deliveryHealth.find().sort({ _id: 1 }).limit(10_000).toArray();
      // MongoDB stores undefined as null.
      return (await guardMongo(found)).map(({ report }) => ({
        ...report,
        rate: report.rate ?? undefined,
        baselineRate: report.baselineRate ?? undefined,
      }));
    },
    async listHealth() {
      const documents = await guardMongo(connectorHealth.find().toArray());
      return documents.map(({ _id, ...rest }) => ({
        ...rest,
        counted: rest.counted ?? [],
        connectorId: _id,
      }));
    },
    async saveHealth(changes) {
      if (changes.length === 0) return;
      const writes = changes.map(({ before, after: { connectorId, ...replacement } }) => {
        // Matches only the document that was read: the same state, start and strikes.
        const { state, sinceMs, strikes } = before;
        const filter = { _id: connectorId, state, sinceMs, strikes };
        return { replaceOne: { filter, replacement, upsert: true } };
      });
      try {
        await connectorHealth.bulkWrite(writes, { ordered: false });
      } catch (error) {
        // Another replica saved first: the filter does not match, and the insert violates `_id`.
        if (!isDuplicateKey(error)) throw wrapMongoError(error);
      }
    },
    async removeHealth(connectorIds) {
      await guardMongo(connectorHealth.deleteMany({ _id: { $in: [...connectorIds] } }));
    },
  };
}

/** Replaces the earlier report of the same part (a bind, a country) of a connector. */
function replaceReport<Report extends BindHealth | DeliveryHealth>(report: Report, part: string) {
  const filter = { _id: `${report.connectorId}/${part}` };
  const replacement = { report, reported_at: new Date(report.reportedAtMs) };
  return { replaceOne: { filter, replacement, upsert: true } };
}
