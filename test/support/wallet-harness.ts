/** A wallet in the test process, on real MongoDB and NATS, with its own database. */
import { randomBytes } from "node:crypto";
import { systemClock } from "../../services/shared/core/clock.ts";
import { createLogger } from "../../services/shared/io/log.ts";
import { openMongo } from "../../services/shared/io/mongo.ts";
import { openNats } from "../../services/shared/io/nats.ts";
import { createOutbox } from "../../services/shared/io/outbox.ts";
import { toStreamItem } from "../../services/wallet/adapters/events.ts";
import { createCommandQueue } from "../../services/wallet/app/command-queue.ts";
import { createContention } from "../../services/wallet/app/contention.ts";
import { createCheckWallets } from "../../services/wallet/app/reconcile.ts";
import { createSettleMessages } from "../../services/wallet/app/settle-messages.ts";
import { createWallets } from "../../services/wallet/app/wallets.ts";
import { migrate } from "../../services/wallet/migrate.ts";
import { openLedgerSnapshot } from "../../services/wallet/store/snapshot.ts";
import { createWalletStore } from "../../services/wallet/store/wallet-store.ts";
import { ensureEventStream } from "./event-stream.ts";
import type { TestServers } from "./servers.ts";

export const silentLog = createLogger("test", "silent");

export type WalletHarness = Awaited<ReturnType<typeof openWallet>>;

/** Opens one replica. Replicas with the same `database` share it. */
export async function openWallet(
  servers: Pick<TestServers, "mongodbUri" | "natsUrl">,
  options: { readonly database?: string; readonly graceMs?: number } = {},
) {
  const database = options.database ?? `t_${randomBytes(6).toString("hex")}_wallet`;
  const log = silentLog;
  const mongo = await openMongo({ uri: servers.mongodbUri, database, log });
  await migrate(mongo.db);
  const nats = await openNats({ url: servers.natsUrl, name: "wallet test", log });
  await ensureEventStream(nats);
  const outbox = createOutbox({ db: mongo.db, nats, log });
  const contention = createContention();
  const store = createWalletStore({
    client: mongo.client,
    db: mongo.db,
    outbox,
    encodeEvent: toStreamItem,
    graceMs: options.graceMs ?? 300_000,
    auditKeepMs: 3_600_000,
    contention,
  });
  const queue = createCommandQueue({
    store,
    clock: systemClock,
    batchMax: 1000,
    queueMax: 20_000,
    totalMax: 50_000,
    transactionsMax: 4,
    walletsMax: 64,
    contention,
  });
  const settleMessages = createSettleMessages({ store, queue });
  const checkWallets = createCheckWallets(() => openLedgerSnapshot(mongo.client, mongo.db));
  return {
    database,
    mongo,
    nats,
    store,
    queue,
    settleMessages,
    checkWallets,
    wallets: createWallets({ store, queue, clock: systemClock }),
    /** Every broken invariant, as text. */
    async breaches(tenantId = ""): Promise<string[]> {
      const found: string[] = [];
      for await (const { breaches } of checkWallets(tenantId)) {
        found.push(...breaches.map(({ invariant, what, ids }) => `${invariant} ${what} ${ids}`));
      }
      return found;
    },
    async close({ drop = true }: { readonly drop?: boolean } = {}) {
      await queue.close();
      await outbox.close();
      await nats.close();
      if (drop) await mongo.db.dropDatabase();
      await mongo.close();
    },
  };
}
