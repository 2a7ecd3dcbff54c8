import type { Collection } from "mongodb";
import { guardMongo, wrapMongoError } from "../../shared/io/mongo-errors.ts";
import { REPEAT_INDEX } from "./collections.ts";
import type { InboundDocument } from "./inbound-document.ts";

/** The clock skew between hosts. A message that came after the confirmation of the first one is no repeat. */
const SKEW_MS = 1000;

type Pair = { _id: string; before: { id: string } };

/** The reads of the check whether each inbound message is stored once. */
export function createDoubledMessages(inbound: Collection<InboundDocument>) {
  const scopeOf = (tenantId: string | undefined) =>
    tenantId === undefined ? {} : { tenant_id: tenantId };
  return {
    async hasRepeatKey(): Promise<boolean> {
      const indexes = await guardMongo(inbound.indexes());
      return indexes.some(({ name, unique }) => name === REPEAT_INDEX && unique === true);
    },
    count: (tenantId: string | undefined) =>
      guardMongo(inbound.countDocuments({ message_key: { $exists: true }, ...scopeOf(tenantId) })),
    /** Compares each message with the one before it that has its key. Sorts on disk: memory does not grow. */
    async *findDoubled(tenantId: string | undefined): AsyncGenerator<readonly [string, string]> {
      const cursor = inbound.aggregate<Pair>(
        [
          { $match: { message_key: { $exists: true }, ...scopeOf(tenantId) } },
          { $project: { message_key: 1, stored_at: 1, repeat_until: 1, confirmed_at: 1 } },
          {
            $setWindowFields: {
              partitionBy: "$message_key",
              sortBy: { stored_at: 1 },
              output: {
                before: {
                  $shift: {
                    output: { id: "$_id", end: { $ifNull: ["$confirmed_at", "$repeat_until"] } },
                    by: -1,
                  },
                },
              },
            },
          },
          { $match: { $expr: { $lt: [{ $add: ["$stored_at", SKEW_MS] }, "$before.end"] } } },
        ],
        { allowDiskUse: true },
      );
      try {
        for await (const { _id, before } of cursor) yield [before.id, _id];
      } catch (error) {
        throw wrapMongoError(error);
      }
    },
  };
}
