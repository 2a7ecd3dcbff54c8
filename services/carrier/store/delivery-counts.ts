import type { Collection, Db } from "mongodb";
import { guardMongo } from "../../shared/io/mongo-errors.ts";
import type { DeliveryStore } from "../app/ports.ts";
import type { CountrySums } from "../domain/delivery-health.ts";

type SlotDocument = {
  readonly _id: string;
  readonly connector_id: string;
  readonly country: string;
  readonly at: Date;
  readonly submitted: number;
  readonly delivered: number;
  readonly undelivered: number;
};

/** The MongoDB store of delivery counts; a TTL index removes them after 26 h. */
export function createDeliveryStore(db: Db): DeliveryStore {
  const counts: Collection<SlotDocument> = db.collection("delivery_counts");
  // A lost write makes a rate wrong by some submits, so do not wait for the disk.
  const writeConcern = { w: 1, journal: false } as const;

  return {
    async addDeliveries(slots) {
      const writes = slots.map(({ connectorId, country, atMs, ...added }) => ({
        updateOne: {
          filter: { _id: `${connectorId}|${country}|${atMs}` },
          update: {
            $setOnInsert: { connector_id: connectorId, country, at: new Date(atMs) },
            $inc: added,
          },
          upsert: true,
        },
      }));
      await guardMongo(counts.bulkWrite(writes, { ordered: false, writeConcern }));
    },
    async sumDeliveries(fromMs, untilMs) {
      const sum = (field: string) => ({ $sum: `$${field}` });
      const found = await guardMongo(
        counts
          .aggregate<{ _id: { connectorId: string; country: string } } & CountrySums>([
            { $match: { at: { $gte: new Date(fromMs), $lt: new Date(untilMs) } } },
            {
              $group: {
                _id: { connectorId: "$connector_id", country: "$country" },
                submitted: sum("submitted"),
                delivered: sum("delivered"),
                undelivered: sum("undelivered"),
              },
            },
          ])
          .toArray(),
      );
      return found.map(({ _id, submitted, delivered, undelivered }) => ({
        ..._id,
        ...{ submitted, delivered, undelivered },
      }));
    },
  };
}
