/** Opens the connections, wires and serves messaging. Connections close in reverse order. */
import { randomUUID } from "node:crypto";
import { ConsentService } from "../../proto/gen/sms/v1/consent_pb.js";
import { MessagingService } from "../../proto/gen/sms/v1/messaging_pb.js";
import { RoutingService } from "../../proto/gen/sms/v1/routing_pb.js";
import { SenderIdService } from "../../proto/gen/sms/v1/sender_id_pb.js";
import { TenantService } from "../../proto/gen/sms/v1/tenant_pb.js";
import { WalletService } from "../../proto/gen/sms/v1/wallet_pb.js";
import { steadyClock } from "../shared/core/clock.ts";
import { createContinuity } from "../shared/core/continuity.ts";
import { startLoop } from "../shared/flow/periodic.ts";
import { openMongo } from "../shared/io/mongo.ts";
import { openNats } from "../shared/io/nats.ts";
import { createOutbox } from "../shared/io/outbox.ts";
import type { ServiceContext, StartService } from "../shared/io/service-context.ts";
import { openServiceClients } from "./adapters/clients.ts";
import { openInflightPeers } from "./adapters/inflight-sends-nats.ts";
import { openQueueNotifier } from "./adapters/queue-notifications-nats.ts";
import { createMessagingRpc } from "./adapters/rpc.ts";
import { createInflightSends } from "./app/inflight-sends.ts";
import type { ServiceClients } from "./app/ports.ts";
import { readMessagingConfig } from "./config.ts";
import { createMessaging, type OpenMessaging } from "./create-messaging.ts";
import { registerMetrics } from "./metrics.ts";

export { readMessagingConfig as readSettings } from "./config.ts";

const RECOUNT_INTERVAL_MS = 10_000;
const REROUTE_INTERVAL_MS = 1000;
/** Counts lag behind changes by at most this interval and the time of a commit. */
const USAGE_INTERVAL_MS = 5000;
const RETENTION_INTERVAL_MS = 600_000;
const TEST_RETENTION_INTERVAL_MS = 3_600_000;
/** After a failure the search for due messages runs again within this time. */
const DUE_RETRY_MAX_MS = 1000;

/** Starts messaging in this process. */
export const start: StartService = async (context) => {
  const config = readMessagingConfig(context.env);
  const { log, lifecycle, clock } = context;
  const { signal } = lifecycle;

  const mongo = await openMongo({
    uri: config.MONGODB_URI,
    database: `${config.MONGODB_PREFIX}_messaging`,
    poolMax: config.MONGODB_POOL_MAX,
    log,
    signal,
  });
  lifecycle.onClose("messaging database", () => mongo.close());
  lifecycle.addReadinessCheck("messaging database", () => mongo.ping());

  const nats = await openNats({ url: config.NATS_URL, name: "messaging", log, signal });
  lifecycle.onClose("messaging nats", () => nats.close());
  lifecycle.addReadinessCheck("messaging nats", () => nats.ping());

  const outbox = createOutbox({ db: mongo.db, nats, log });
  lifecycle.onClose("messaging outbox", () => outbox.close());

  const services = openServiceClients({
    clients: {
      tenant: context.client(TenantService),
      senderId: context.client(SenderIdService),
      wallet: context.client(WalletService),
      routing: context.client(RoutingService),
      consent: context.client(ConsentService),
    },
    nats: nats.connection,
    clock,
    log,
  });
  lifecycle.onClose("messaging clients", () => services.close());
  // Once loaded, the table stays while routing is down.
  lifecycle.addReadinessCheck("messaging route table", () => void services.routeTable());

  const owner = randomUUID();
  const messaging = createMessaging({
    mongo,
    outbox,
    services,
    config,
    clock,
    log,
    owner,
    notifier: openQueueNotifier(nats.connection, owner, log),
    inflight: createInflightSends(openInflightPeers(nats.connection, owner), clock),
  });
  lifecycle.onClose("messaging batches", () => messaging.close());

  startSweepers(context, messaging, config);
  registerMetrics(context.metrics, messaging, outbox, () => connectorsIn(services));
  const rpc = createMessagingRpc(messaging, config.MESSAGE_KEEP_MS, log);
  context.serve((router) => router.service(MessagingService, rpc));
};

/** Connectors of the route table; none before the first table is loaded. */
function connectorsIn(services: ServiceClients): Set<string> {
  try {
    return new Set(services.routeTable().routes.map(({ rule }) => rule.connectorId));
  } catch {
    return new Set();
  }
}

type Sweep = {
  readonly everyMs: number;
  readonly retryMaxMs?: number;
  readonly work: () => Promise<boolean>;
};

function startSweepers(
  { clock, log, lifecycle }: ServiceContext,
  messaging: OpenMessaging,
  config: ReturnType<typeof readMessagingConfig>,
): void {
  const continuity = createContinuity(clock, steadyClock, config.CLAIM_LEASE_MS / 2);
  const loops = {
    // A scheduled message is sent at most 5 s late, also right after an outage of the database.
    "due messages": {
      everyMs: config.SCHEDULER_INTERVAL_MS,
      retryMaxMs: DUE_RETRY_MAX_MS,
      work: messaging.sweeps.due,
    },
    "silent carriers": {
      everyMs: Math.ceil(config.CLAIM_LEASE_MS / 4),
      work: async () => {
        await messaging.carriers.sweep(continuity.forMs());
        continuity.note();
        return false;
      },
    },
    "queue lengths": {
      everyMs: RECOUNT_INTERVAL_MS,
      work: async () => {
        await messaging.limits.recount();
        return false;
      },
    },
    "quiet hours": { everyMs: config.SCHEDULER_INTERVAL_MS, work: messaging.quiet.release },
    "rerouted messages": { everyMs: REROUTE_INTERVAL_MS, work: messaging.rerouter.run },
    "usage counts": { everyMs: USAGE_INTERVAL_MS, work: messaging.usage.fold },
    retention: { everyMs: RETENTION_INTERVAL_MS, work: messaging.sweeps.retention },
    "test retention": {
      everyMs: TEST_RETENTION_INTERVAL_MS,
      work: messaging.sweeps.testRetention,
    },
  };
  for (const [name, { everyMs, work, ...limits }] of Object.entries<Sweep>(loops)) {
    const loop = startLoop({ name, intervalMs: everyMs, ...limits, log, work: () => work() });
    lifecycle.onClose(`messaging ${name}`, () => loop.close());
  }
}
