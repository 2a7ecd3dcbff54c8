import { MessagingService } from "../../proto/gen/sms/v1/messaging_pb.js";
import { WalletService } from "../../proto/gen/sms/v1/wallet_pb.js";
import { MONEY_SCALE } from "../shared/core/money.ts";
import { startLoop } from "../shared/flow/periodic.ts";
import { createAuditLog } from "../shared/io/audit-log.ts";
import { startConsumer } from "../shared/io/consumer.ts";
import { createDeadLetters } from "../shared/io/dead-letters.ts";
import { openMongo } from "../shared/io/mongo.ts";
import { openNats } from "../shared/io/nats.ts";
import { createOutbox } from "../shared/io/outbox.ts";
import type { ServiceContext, StartService } from "../shared/io/service-context.ts";
import {
  createSettleHandler,
  SETTLE_DURABLE,
  SETTLE_SUBJECTS,
  toStreamItem,
} from "./adapters/events.ts";
import { createResolveReservations } from "./adapters/messaging-client.ts";
import { createWalletRpc } from "./adapters/rpc.ts";
import { type CommandQueue, createCommandQueue } from "./app/command-queue.ts";
import { createContention } from "./app/contention.ts";
import { createFundings, type Fundings, SWEEP_FUNDINGS } from "./app/fundings.ts";
import type { WalletStore } from "./app/ports.ts";
import { createCheckWallets } from "./app/reconcile.ts";
import { startSelfCheck } from "./app/self-check.ts";
import { createSettleMessages, type SettleMessages } from "./app/settle-messages.ts";
import { createSweep, SWEEP_BATCH } from "./app/sweep.ts";
import { createWallets } from "./app/wallets.ts";
import { readWalletConfig, type WalletConfig } from "./config.ts";
import { createWalletMetrics, type RegisteredMetrics } from "./metrics.ts";
import { createFundingStore } from "./store/funding-store.ts";
import { openLedgerSnapshot } from "./store/snapshot.ts";
import { createWalletStore } from "./store/wallet-store.ts";

export { readWalletConfig as readSettings } from "./config.ts";

/**
 * Minimum interval between settlement batches (ADR 65). The money is held already, so a delay is
 * harmless, and a larger batch costs less per message.
 */
const SETTLE_INTERVAL_MS = 250;

/** Interval of the sweep for approved fundings whose process ended before it moved them. All others move at once. */
const FUNDING_SWEEP_MS = 5000;

/**
 * Starts the wallet: database, event stream, command queue, RPCs, consumer, sweeper, self-check.
 */
export const start: StartService = async (context) => {
  const { env, log, clock, lifecycle } = context;
  const config = readWalletConfig(env);
  const { mongo, nats } = await openServers(context, config);

  const outbox = createOutbox({ db: mongo.db, nats, log });
  lifecycle.onClose("wallet outbox", () => outbox.close());
  const contention = createContention();
  const store = createWalletStore({
    client: mongo.client,
    db: mongo.db,
    outbox,
    encodeEvent: toStreamItem,
    graceMs: config.SETTLEMENT_GRACE_MS,
    auditKeepMs: config.AUDIT_KEEP_MS,
    contention,
  });
  const metrics = createWalletMetrics(context.metrics);
  const queue = createCommandQueue({ ...queueBounds(config), store, clock, contention, metrics });
  lifecycle.onClose("wallet queue", () => queue.close());
  const settleMessages = createSettleMessages({ store, queue, metrics });
  const checkWallets = createCheckWallets(() => openLedgerSnapshot(mongo.client, mongo.db));
  const wallets = createWallets({ store, queue, clock });
  const handle = createSettleHandler({ settleMessages, log });
  const deadLetters = createDeadLetters(mongo.db, handle);
  const audit = createAuditLog(mongo.db, config.AUDIT_KEEP_MS);
  const graceMs = config.SETTLEMENT_GRACE_MS;
  const fundings = createFundings({
    store: createFundingStore(mongo.client, mongo.db, audit),
    ...{ wallets, clock },
    approvalAbove: BigInt(config.FUNDING_APPROVAL_ABOVE) * MONEY_SCALE,
  });
  startFundingSweeper(context, fundings);
  const useCases = { wallets, fundings, settleMessages, checkWallets, store, deadLetters, audit };
  const rpc = createWalletRpc({ ...useCases, clock, log, graceMs });
  context.serve((router) => void router.service(WalletService, rpc));

  const consumer = startConsumer({
    nats,
    db: mongo.db,
    durable: SETTLE_DURABLE,
    subjects: SETTLE_SUBJECTS,
    batchMax: config.WALLET_SETTLE_BATCH_MAX,
    // A killed process leaves its batch unacknowledged: it is redelivered after this long.
    ackWaitMs: 6000,
    minIntervalMs: SETTLE_INTERVAL_MS,
    log,
    handle,
  });
  lifecycle.onClose("wallet settlement", () => consumer.close());
  startSweeper(context, config, { store, queue, settleMessages, metrics });
  metrics.watch({
    lag: () => consumer.lag(),
    oldestMs: () => consumer.oldestMs(),
    outbox: () => outbox.backlog(),
    deadLetters: () => deadLetters.count(),
    queue,
  });
  const selfCheck = startSelfCheck({
    checkWallets,
    intervalMs: config.WALLET_CHECK_INTERVAL_MS,
    metrics,
    log,
  });
  lifecycle.onClose("wallet self-check", () => selfCheck.close());
};

function queueBounds(config: WalletConfig) {
  return {
    batchMax: config.WALLET_BATCH_MAX,
    queueMax: config.WALLET_QUEUE_MAX,
    totalMax: config.WALLET_TOTAL_MAX,
    transactionsMax: config.WALLET_FLUSHES_MAX,
    walletsMax: config.WALLET_GROUP_MAX,
  };
}

/** Moves the money of approved fundings whose process ended before it moved them. */
function startFundingSweeper({ log, lifecycle }: ServiceContext, fundings: Fundings): void {
  const sweeper = startLoop({
    name: "funding sweeper",
    intervalMs: FUNDING_SWEEP_MS,
    log,
    work: async () => (await fundings.sweep()) === SWEEP_FUNDINGS,
  });
  lifecycle.onClose("funding sweeper", () => sweeper.close());
}

/** Opens the database and the event stream. Readiness depends on both. */
async function openServers({ log, lifecycle }: ServiceContext, config: WalletConfig) {
  const { signal } = lifecycle;
  const mongo = await openMongo({
    uri: config.MONGODB_URI,
    database: `${config.MONGODB_PREFIX}_wallet`,
    poolMax: config.MONGODB_POOL_MAX,
    log,
    signal,
  });
  lifecycle.onClose("wallet database", () => mongo.close());
  lifecycle.addReadinessCheck("wallet database", () => mongo.ping());
  const nats = await openNats({ url: config.NATS_URL, name: "wallet", log, signal });
  lifecycle.onClose("wallet events", () => nats.close());
  lifecycle.addReadinessCheck("wallet events", () => nats.ping());
  return { mongo, nats };
}

/** Runs the sweeper until the process closes. */
function startSweeper(
  { clock, log, lifecycle, client }: ServiceContext,
  config: WalletConfig,
  parts: {
    readonly store: WalletStore;
    readonly queue: CommandQueue;
    readonly settleMessages: SettleMessages;
    readonly metrics: RegisteredMetrics;
  },
): void {
  const resolve = createResolveReservations(client(MessagingService), log);
  const sweep = createSweep({ ...parts, resolve, clock, graceMs: config.SETTLEMENT_GRACE_MS });
  const sweeper = startLoop({
    name: "wallet sweeper",
    intervalMs: config.WALLET_SWEEP_INTERVAL_MS,
    // After an outage of messaging, orphan holds are still back within a minute.
    retryMaxMs: 5000,
    log,
    async work() {
      const result = await sweep();
      parts.metrics.onSweep(result);
      const { failure, ...figures } = result;
      if (result.checked > 0) log.info(figures, "swept reservations that stayed open");
      if (failure !== undefined) throw failure;
      return result.checked === SWEEP_BATCH;
    },
  });
  lifecycle.onClose("wallet sweeper", () => sweeper.close());
}
