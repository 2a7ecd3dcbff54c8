import type { Collection, Db } from "mongodb";
import { guardMongo, isDuplicateKey, wrapMongoError } from "../../shared/io/mongo-errors.ts";
import type { HealthStore } from "../app/ports.ts";
import type { DeliveryHealth } from "../domain/delivery-health.ts";
import type { BindHealth, ConnectorHealth } from "../domain/health.ts";

type ReportDocument = { _id: string; report: BindHealth; reported_at: Date };
type DeliveryDocument = { _id: string; report: DeliveryHealth; reported_at: Date };
type HealthDocument = Omit<ConnectorHealth, "connectorId"> & { _id: string };

/** The MongoDB store of reports (a TTL index removes them after a minute) and connector health. */
export function createHealthStore(db: Db): HealthStore {
  const reports: Collection<ReportDocument> = db.collection("bind_health");
  const deliveryHealth: Collection<DeliveryDocument> = db.collection("delivery_health");
  const connectorHealth: Collection<HealthDocument> = db.collection("connector_health");
  // A lost report is followed by another one a second later, so do not wait for the disk.
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
      const writes = newest.map((report) => {
        const _id = `${report.connectorId}/${report.country}`;
        const replacement = { report, reported_at: new Date(report.reportedAtMs) };
        return { replaceOne: { filter: { _id }, replacement, upsert: true } };
      });
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
