/**
 * Holds, captures, releases and fundings over many wallets and one hot one, while a wallet
 * process is killed (-9) repeatedly and MongoDB is stopped (SIGSTOP) from time to time. Callers follow
 * only the documented retry rule. In the end every response must be true, and every invariant must hold.
 *
 * `node test/chaos/wallet-chaos.ts [--operations 100000] [--replicas 1] [--seed N]`
 */
import { create, toBinary } from "@bufbuild/protobuf";
import { Mode } from "../../proto/gen/sms/v1/common_pb.js";
import { EventSchema } from "../../proto/gen/sms/v1/events_pb.js";
import { MessageStatus } from "../../proto/gen/sms/v1/messaging_pb.js";
import { newId } from "../../services/shared/core/ids.ts";
import { publishAll } from "../../services/shared/io/publisher.ts";
import { toAppError } from "../../services/shared/rpc/error-status.ts";
import { seededRandom } from "../../services/smsc-simulator/domain/latency.ts";
import { freshDatabase } from "../support/fresh-names.ts";
import { eventually } from "../support/poll.ts";
import { startOwnServers } from "../support/servers.ts";
import { openWallet, type WalletHarness } from "../support/wallet-harness.ts";
import {
  connectWallet,
  startWallet,
  type WalletClient,
  type WalletProcess,
} from "../support/wallet-process.ts";

/** The size of the run. */
export type ChaosOptions = {
  readonly seed: number;
  /** The approximate number of holds, settlements and fundings. */
  readonly operations: number;
  readonly wallets: number;
  /** Wallet processes; a random one is killed each time. */
  readonly replicas: number;
  readonly killEveryMs: number;
  readonly stopDatabaseEveryMs: number;
  readonly log: (line: string) => void;
};

/** The result; `faults` is empty on success. */
export type ChaosReport = {
  readonly holds: number;
  readonly refused: number;
  readonly settled: number;
  readonly fundings: number;
  readonly retries: number;
  readonly kills: number;
  readonly stops: number;
  readonly tookMs: number;
  readonly faults: readonly string[];
};

const HOLDS_PER_CALL = 20;
const CALLERS = 24;
const HELD = 10n;
const RETRY_MS = 50;
/** After the last kill and stop everything must be settled within this time. */
const SETTLED_WITHIN_MS = 10_000;

/** The responses that callers got for one wallet. */
type Reported = {
  readonly tenantId: string;
  funded: bigint;
  charged: bigint;
  readonly held: string[];
  readonly refused: string[];
  readonly settled: Map<string, bigint>;
};

type World = {
  readonly harness: WalletHarness;
  readonly client: WalletClient;
  readonly random: () => number;
  readonly reported: readonly Reported[];
  readonly count: {
    holds: number;
    refused: number;
    settled: number;
    fundings: number;
    retries: number;
  };
};

/** Runs on its own servers and stops them. */
export async function runWalletChaos(options: ChaosOptions): Promise<ChaosReport> {
  const startedMs = performance.now();
  const servers = await startOwnServers();
  const prefix = freshDatabase("chaos");
  const harness = await openWallet(servers, { database: `${prefix}_wallet` });
  const replicas = await Promise.all(
    Array.from({ length: options.replicas }, () => startWallet(servers, prefix)),
  );
  const client = connectWallet(...replicas.map(({ target }) => target));
  const random = seededRandom(options.seed);
  const count = { holds: 0, refused: 0, settled: 0, fundings: 0, retries: 0 };
  const reported = await openWallets(client, options.wallets);
  const world: World = { harness, client, random, reported, count };
  const trouble = await startTrouble(world, options, replicas);
  const progress = setInterval(
    () => options.log(JSON.stringify({ ...count, ...trouble.count })),
    5000,
  );
  try {
    const calls = Math.ceil(options.operations / (2 * HOLDS_PER_CALL + 1));
    let left = calls;
    await Promise.all(
      Array.from({ length: CALLERS }, async () => {
        while (left > 0) {
          left -= 1;
          await oneRound(world);
        }
      }),
    );
    const { kills, stops } = await trouble.end();
    const faults = await check(world);
    return { ...count, kills, stops, tookMs: performance.now() - startedMs, faults };
  } finally {
    clearInterval(progress);
    await trouble.end();
    client.closeChannel();
    await Promise.all(replicas.map((replica) => replica.stop()));
    // A transaction of a killed replica would keep the drop waiting for up to a minute.
    await harness.close({ drop: false });
    await servers.stop();
  }
}

async function openWallets(client: WalletClient, wallets: number): Promise<Reported[]> {
  const reported: Reported[] = [];
  for (let made = 0; made < wallets; made += 1) {
    const tenantId = newId("tenant");
    await client.createWallet({ tenantId, currency: "NGN", lowBalanceThreshold: 50n });
    reported.push({
      tenantId,
      funded: 0n,
      charged: 0n,
      held: [],
      refused: [],
      settled: new Map(),
    });
  }
  return reported;
}

/** Funds slightly too little, places holds and settles them. The first wallet is the hot one. */
async function oneRound(world: World): Promise<void> {
  const { random, reported, client, count } = world;
  const at = random() < 0.5 ? 0 : Math.floor(random() * reported.length);
  const wallet = reported[at];
  if (wallet === undefined) return;
  const { tenantId } = wallet;
  const amount = HELD * BigInt(Math.ceil(random() * HOLDS_PER_CALL * 0.9));
  const reference = newId("event");
  const actor = { name: "chaos", address: "" };
  await insist(world, () => client.fundWallet({ tenantId, amount, reference, actor }));
  wallet.funded += amount;
  count.fundings += 1;

  const holds = Array.from({ length: HOLDS_PER_CALL }, () => ({
    tenantId,
    reservationId: newId("reservation"),
    amount: HELD,
    messageCount: 1,
    firstMessageId: "msg_1",
    lastMessageId: "msg_1",
  }));
  const placed = await placeAll(world, wallet, holds);
  const settlements = placed.map((reservationId) => ({
    tenantId,
    reservationId,
    messageId: newId("message"),
    heldAmount: HELD,
    capturedAmount: BigInt(Math.floor(random() * 11)),
  }));
  if (settlements.length === 0) return;
  if (random() < 0.5) await insist(world, () => client.settleMessages({ settlements }));
  else await insist(world, () => publishSent(world, settlements));
  for (const { messageId, capturedAmount } of settlements) {
    wallet.settled.set(messageId, capturedAmount);
    wallet.charged += capturedAmount;
  }
  count.settled += settlements.length;
}

/** Retries each hold until it has a response; returns the placed ones. */
async function placeAll(
  world: World,
  wallet: Reported,
  holds: readonly { readonly reservationId: string }[],
): Promise<string[]> {
  const placed: string[] = [];
  let open = holds;
  while (open.length > 0) {
    const { outcomes } = await insist(world, () => world.client.placeHolds({ holds: [...open] }));
    const again = new Set<string>();
    for (const { reservationId, errorCode } of outcomes) {
      if (errorCode === "") placed.push(reservationId);
      else if (errorCode === "insufficient_balance") wallet.refused.push(reservationId);
      else again.add(reservationId);
    }
    open = open.filter(({ reservationId }) => again.has(reservationId));
    if (open.length > 0) await retryLater(world);
  }
  wallet.held.push(...placed);
  world.count.holds += placed.length;
  world.count.refused += holds.length - placed.length;
  return placed;
}

type Sent = {
  readonly tenantId: string;
  readonly reservationId: string;
  readonly messageId: string;
  readonly capturedAmount: bigint;
};

/** Publishes each change as messaging would, some of them twice. */
async function publishSent({ harness, random }: World, settlements: readonly Sent[]) {
  const items = settlements.flatMap(({ tenantId, reservationId, messageId, capturedAmount }) => {
    const isSent = capturedAmount > 0n;
    const id = newId("event");
    const message = {
      id: messageId,
      tenantId,
      reservationId,
      heldAmount: HELD,
      mode: Mode.LIVE,
      status: isSent ? MessageStatus.SENT : MessageStatus.FAILED,
      ...(isSent ? { amount: capturedAmount } : {}),
    };
    const payload = { case: "messageChanged", value: { message } } as const;
    const data = toBinary(EventSchema, create(EventSchema, { id, tenantId, payload }));
    const item = { id, subject: `events.message.${tenantId}.sent`, data };
    return random() < 0.2 ? [item, { ...item, id: `${id}-again` }] : [item];
  });
  await publishAll(harness.nats.connection, items);
}

/** The documented retry rule: repeat the same request after an outage or a lost response. */
async function insist<T>(world: World, call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      const { code } = toAppError(error);
      if (code !== "service_unavailable" && code !== "internal_error") throw error;
      await retryLater(world);
    }
  }
}

async function retryLater({ count, random }: World): Promise<void> {
  count.retries += 1;
  await wait(RETRY_MS * (0.5 + random()));
}

/** Kills the wallet and stops the database, until stopped. */
async function startTrouble(
  { harness, random }: World,
  options: ChaosOptions,
  replicas: readonly WalletProcess[],
) {
  const status = await harness.mongo.db.admin().serverStatus();
  const databasePid = Number(status.pid);
  const count = { kills: 0, stops: 0 };
  let isOver = false;
  async function kill(): Promise<void> {
    while (!isOver) {
      await wait(options.killEveryMs);
      if (isOver) return;
      const victim = replicas[Math.floor(random() * replicas.length)];
      await victim?.kill();
      count.kills += 1;
      await victim?.start();
    }
  }
  async function stop(): Promise<void> {
    while (!isOver) {
      await wait(options.stopDatabaseEveryMs);
      if (isOver) return;
      process.kill(databasePid, "SIGSTOP");
      await wait(400);
      process.kill(databasePid, "SIGCONT");
      count.stops += 1;
    }
  }
  const running = Promise.all([kill(), stop()]);
  return {
    count,
    async end() {
      isOver = true;
      await running;
      return count;
    },
  };
}

/** Compares the callers' responses with the database. */
async function check({ harness, reported }: World): Promise<string[]> {
  const faults: string[] = [];
  const deadlineMs = performance.now() + SETTLED_WITHIN_MS;
  for (const { tenantId, funded, charged, held, refused, settled } of reported) {
    const wanted = `${funded - charged}/0`;
    const shown = await eventually(
      async () => {
        const wallet = await harness.wallets.get(tenantId);
        return wallet.held === 0n && `${wallet.balance}/${wallet.held}`;
      },
      // Later wallets have had the time of the earlier ones; one probe is always made.
      {
        timeoutMs: Math.max(1, deadlineMs - performance.now()),
        what: `everything of ${tenantId} settled`,
      },
    ).catch((error: Error) => error.message);
    if (shown !== wanted) faults.push(`${tenantId}: reported ${wanted}, is ${shown}`);
    const known = new Set<string>();
    const reservations = harness.mongo.db.collection("reservations").find({ tenant_id: tenantId });
    for await (const { _id } of reservations) known.add(String(_id));
    faults.push(...held.filter((id) => !known.has(id)).map((id) => `${id}: reported held, is not`));
    faults.push(
      ...refused.filter((id) => known.has(id)).map((id) => `${id}: reported refused, is held`),
    );
    if (known.size !== held.length) {
      faults.push(`${tenantId}: ${held.length} holds reported, ${known.size} are`);
    }
    for await (const chunk of harness.store.streamSettlements(tenantId)) {
      for (const { messageId, capturedAmount } of chunk) {
        if (settled.get(messageId) === capturedAmount) settled.delete(messageId);
        else
          faults.push(
            `${messageId}: charged ${capturedAmount}, reported ${settled.get(messageId)}`,
          );
      }
    }
    faults.push(...[...settled.keys()].map((id) => `${id}: reported settled, is not`));
  }
  return [...faults, ...(await harness.breaches())];
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function argument(name: string, fallback: number): number {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? fallback : Number(process.argv[at + 1]);
}

if (import.meta.main) {
  const seed = argument("seed", Date.now() % 1_000_000);
  const log = (line: string) => void process.stdout.write(`${line}\n`);
  log(`seed ${seed}`);
  const report = await runWalletChaos({
    seed,
    operations: argument("operations", 100_000),
    wallets: 101,
    replicas: argument("replicas", 1),
    killEveryMs: 2000,
    stopDatabaseEveryMs: 5000,
    log,
  });
  const { faults, ...figures } = report;
  log(JSON.stringify(figures));
  for (const fault of faults.slice(0, 50)) log(`BROKEN ${fault}`);
  log(
    faults.length === 0
      ? "every answer was true, every invariant holds"
      : `${faults.length} faults`,
  );
  process.exitCode = faults.length === 0 ? 0 : 1;
}
