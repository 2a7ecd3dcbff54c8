import { RoutingService } from "../../proto/gen/sms/v1/routing_pb.js";
import { steadyClock } from "../shared/core/clock.ts";
import { parseQuietRules } from "../shared/core/quiet-hours-text.ts";
import { startLoop } from "../shared/flow/periodic.ts";
import { createAuditLog } from "../shared/io/audit-log.ts";
import { createSecretBox } from "../shared/io/encryption.ts";
import { openMongo } from "../shared/io/mongo.ts";
import { openNats } from "../shared/io/nats.ts";
import type { StartService } from "../shared/io/service-context.ts";
import { createRouteTableNotifier } from "./adapters/events.ts";
import { createRoutingRpc } from "./adapters/rpc.ts";
import { createHealthService } from "./app/health.ts";
import { createTableReader } from "./app/load-route-table.ts";
import { createQuietHoursService } from "./app/quiet-hours.ts";
import { createRoutingService } from "./app/routing.ts";
import { readRoutingConfig } from "./config.ts";
import { createHealthStore } from "./store/health.ts";
import { createRoutingStore } from "./store/routing-store.ts";

export { readRoutingConfig as readSettings } from "./config.ts";

/** Starts the routing service: database, RPCs, and the evaluation of connector health. */
export const start: StartService = async ({ env, log, clock, lifecycle, serve }) => {
  const config = readRoutingConfig(env);
  const box = createSecretBox(config.ENCRYPTION_KEYS);
  const { signal } = lifecycle;
  const mongo = await openMongo({
    uri: config.MONGODB_URI,
    database: `${config.MONGODB_PREFIX}_routing`,
    poolMax: config.MONGODB_POOL_MAX,
    log,
    signal,
  });
  lifecycle.onClose("routing database", () => mongo.close());
  lifecycle.addReadinessCheck("mongodb", () => mongo.ping());
  const nats = await openNats({ url: config.NATS_URL, name: "routing", log, signal });
  lifecycle.onClose("routing NATS", () => nats.close());

  const notifier = createRouteTableNotifier(nats.connection);
  const audit = createAuditLog(mongo.db, config.AUDIT_KEEP_MS);
  const store = createRoutingStore({ client: mongo.client, db: mongo.db, box, audit });
  const ofSetting = parseQuietRules(config.QUIET_HOURS);
  const quietHours = createQuietHoursService({ store, ofSetting, clock, notifier });
  const table = createTableReader(store, quietHours);
  const service = createRoutingService({ store, clock, notifier });
  const health = createHealthService({
    store: createHealthStore(mongo.db),
    clock,
    monotonicClock: steadyClock,
    intervalMs: config.CONNECTOR_JUDGE_INTERVAL_MS,
    listConnectorIds: async () => (await table.read()).connectors.map(({ id }) => id),
    notifier,
  });
  const evaluation = startLoop({
    name: "connector health",
    intervalMs: config.CONNECTOR_JUDGE_INTERVAL_MS,
    log,
    work: async () => {
      await health.evaluateAll();
      return false;
    },
  });
  lifecycle.onClose("connector health", () => evaluation.close());
  serve((router) =>
    router.service(RoutingService, createRoutingRpc({ service, quietHours, health, table, audit })),
  );
};
