/**
 * Two carrier replicas share a connector limited to 100 submits a second, for a minute: the real
 * dispatcher, rate limiter and SMPP link, each replica in a thread of its own, Redis between them, and the
 * simulator as the measure: its busiest second, to the millisecond, and the share of the rate used.
 * RATE and SECONDS in the environment change what is asked.
 */
import { isMainThread, Worker, workerData } from "node:worker_threads";
import { create } from "@bufbuild/protobuf";
import { SmppSettingsSchema } from "../../proto/gen/sms/v1/routing_pb.js";
import { createSmppLink } from "../../services/carrier/adapters/links/smpp-link.ts";
import { createBind } from "../../services/carrier/app/bind.ts";
import { createDispatcher } from "../../services/carrier/app/dispatcher.ts";
import { createRecentSubmissions } from "../../services/carrier/app/recent-submissions.ts";
import { createRateLimiter } from "../../services/carrier/store/rate-limiter.ts";
import { steadyClock, systemClock } from "../../services/shared/core/clock.ts";
import { newId } from "../../services/shared/core/ids.ts";
import { pause } from "../../services/shared/flow/backoff.ts";
import { createLogger } from "../../services/shared/io/log.ts";
import { openRedis } from "../../services/shared/io/redis.ts";
import { startSimulator } from "../../services/smsc-simulator/create-simulator.ts";
import { claimed } from "../support/carrier-messages.ts";
import { startServers } from "../support/servers.ts";
import { report } from "./report.ts";

type Replica = { readonly port: number; readonly redisUrl: string; readonly rate: number };

const REPLICAS = 2;
/** Messages kept waiting in each replica, so that the rate is all that holds them back. */
const WAITING = 50;

async function main(): Promise<void> {
  const rate = Number(process.env.RATE ?? 100);
  const seconds = Number(process.env.SECONDS ?? 60);
  const servers = await startServers();
  const simulator = await startSimulator({
    host: "127.0.0.1",
    port: 0,
    controlPort: 0,
    systemId: "bench",
    password: "bench",
  });
  const counters = async () =>
    (await (await fetch(`http://127.0.0.1:${simulator.controlPort}/counters`)).json()) as {
      peak_per_second: number;
      total: number;
      binds: number;
    };
  const data: Replica = { port: simulator.port, redisUrl: servers.redisUrl, rate };
  const workers = Array.from({ length: REPLICAS }, () => {
    return new Worker(new URL(import.meta.url), { workerData: data });
  });
  while ((await counters()).binds < REPLICAS) await pause(50);
  await pause(1000);
  const before = (await counters()).total;
  const fromMs = performance.now();
  await pause(seconds * 1000);
  const { total, peak_per_second } = await counters();
  const perSecond = ((total - before) * 1000) / (performance.now() - fromMs);
  const used = (100 * perSecond) / rate;
  const isKept = peak_per_second <= rate;
  report("connector-rate", [
    {
      path: `SMPP: ${rate}/s over ${REPLICAS} replicas, ${seconds} s: exceeded in any second; used`,
      budget: "never; 97 %",
      aim: "never; 98 %",
      measured: `busiest second ${peak_per_second}; ${used.toFixed(1)} %`,
      met: isKept && used >= 97,
      figures: { peak_per_second, perSecond, used },
    },
  ]);
  await Promise.all(workers.map((worker) => worker.terminate()));
  await simulator.close();
  await servers.stop();
  process.exitCode = isKept && used >= 97 ? 0 : 1;
}

function runReplica({ port, redisUrl, rate }: Replica): void {
  const log = createLogger("bench", "error");
  const redis = openRedis({ url: redisUrl, log });
  const dispatcher = createDispatcher({
    connectorId: "bench",
    hasSingleReceipt: false,
    proofWaitMs: 600_000,
    journal: { append: () => undefined, markRefused: () => undefined },
    outcomes: { report: () => undefined, saveSubmissions: () => undefined },
    recent: createRecentSubmissions(1000),
    clock: systemClock,
    steady: steadyClock,
    log,
    spans: { open: () => undefined },
    onRoom: () => undefined,
  });
  const link = createSmppLink({
    connectorId: "bench",
    settings: create(SmppSettingsSchema, {
      host: "127.0.0.1",
      port,
      systemId: "bench",
      password: "bench",
      bindMode: "transceiver",
      window: 100,
      responseTimeoutMs: 10_000,
    }),
    events: {
      beforeWrite: dispatcher.beforeWrite,
      onReceipt: async () => undefined,
      onLateAnswer: dispatcher.lateAnswer,
      onInbound: async () => undefined,
      onChange: () => dispatcher.pump(),
    },
    log,
    clock: systemClock,
  });
  dispatcher.setBinds([createBind(0, link, systemClock, log)]);
  dispatcher.setRateLimiter(
    createRateLimiter({ redis, key: "bench", ratePerSecond: rate, replicas: () => REPLICAS, log }),
  );
  link.start();
  setInterval(() => {
    const count = WAITING - dispatcher.waiting;
    if (link.status !== "bound" || count <= 0) return;
    dispatcher.add(
      Array.from({ length: count }, (_, at) =>
        claimed({ messageId: newId("message"), to: `+23480312${String(at).padStart(5, "0")}` }),
      ),
    );
  }, 20);
}

if (isMainThread) await main();
else runReplica(workerData as Replica);
