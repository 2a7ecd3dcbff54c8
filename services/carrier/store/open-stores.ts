import { openMongo } from "../../shared/io/mongo.ts";
import { openNats } from "../../shared/io/nats.ts";
import { openRedis } from "../../shared/io/redis.ts";
import type { ServiceContext } from "../../shared/io/service-context.ts";
import type { CarrierConfig } from "../config.ts";

/** Opens MongoDB, NATS and Redis; the lifecycle closes them. */
export async function openStores({ log, lifecycle }: ServiceContext, config: CarrierConfig) {
  const { signal } = lifecycle;
  const mongo = await openMongo({
    uri: config.MONGODB_URI,
    database: `${config.MONGODB_PREFIX}_carrier`,
    poolMax: config.MONGODB_POOL_MAX,
    log,
    signal,
  });
  lifecycle.onClose("carrier database", () => mongo.close());
  lifecycle.addReadinessCheck("mongodb", () => mongo.ping());
  const nats = await openNats({ url: config.NATS_URL, name: "carrier", log, signal });
  lifecycle.onClose("carrier NATS", () => nats.close());
  const redis = openRedis({ url: config.REDIS_URL, log });
  lifecycle.onClose("carrier Redis", () => redis.disconnect());
  return { mongo, nats, redis };
}
