/**
 * The webhook service's figures, each against its budget, in one run on real processes: webhook
 * service, HTTPS keep-alive receivers, MongoDB and NATS on this machine; events from this process.
 * Latency runs from the instant of the event to the receiver having read the whole request.
 *
 * `node test/load/bench-webhook.ts [--seconds N]`; about a minute and a half.
 */
import type { Db } from "mongodb";
import { newId } from "../../services/shared/core/ids.ts";
import type { Nats } from "../../services/shared/io/nats.ts";
import { deliveryId } from "../../services/webhook/domain/deterministic-ids.ts";
import { createDeliveryQueue } from "../../services/webhook/store/queue.ts";
import { freshDatabase } from "../support/fresh-names.ts";
import { eventually } from "../support/poll.ts";
import { startOwnServers } from "../support/servers.ts";
import {
  messageEvent,
  openWebhookStores,
  publishEvents,
  testCertificates,
  webhookSettings,
} from "../support/webhook-harness.ts";
import {
  type ReceiverProcess,
  startReceiverProcess,
  startWebhookProcess,
  type WebhookProcess,
} from "../support/webhook-process.ts";
import type { Request } from "../support/webhook-receiver-process.ts";
import { type Row, report } from "./report.ts";

const secondsAt = process.argv.indexOf("--seconds");
const SECONDS = secondsAt < 0 ? 8 : Number(process.argv[secondsAt + 1]);
const HEALTHY = 90;
const HALF_RATE = 750;
const BACKLOG = 15_000;
const TICK_MS = 10;

type Bench = {
  readonly nats: Nats;
  readonly db: Db;
  readonly webhook: WebhookProcess;
  readonly receiver: ReceiverProcess;
};

/** Tenants with one endpoint each, behaving as their path says. */
async function addTenants(bench: Bench, kind: string, count: number): Promise<string[]> {
  const tenants = Array.from({ length: count }, () => newId("tenant"));
  await Promise.all(
    tenants.map((tenantId) =>
      bench.webhook.client.createEndpoint({
        tenantId,
        url: bench.receiver.url(`/${kind}/${tenantId}`),
      }),
    ),
  );
  return tenants;
}

/** Publishes events evenly spaced, to the tenants in round robin, independent of the service. */
async function publishOpen(
  nats: Nats,
  tenants: readonly string[],
  perSecond: number,
  seconds: number,
): Promise<number> {
  const beganMs = performance.now();
  const total = Math.round(perSecond * seconds);
  const running = new Set<Promise<void>>();
  for (let sent = 0; sent < total; ) {
    const due = Math.min(
      total,
      Math.ceil(((performance.now() - beganMs + TICK_MS) * perSecond) / 1000),
    );
    const events = [];
    for (; sent < due; sent += 1) {
      events.push(
        messageEvent(tenants[sent % tenants.length] ?? "", { body: "Your code is 1234" }),
      );
    }
    const work = publishEvents(nats, events).finally(() => running.delete(work));
    running.add(work);
    await new Promise((resolve) => setTimeout(resolve, TICK_MS));
  }
  await Promise.all(running);
  return total;
}

function latencies(requests: readonly Request[]): { p50: number; p99: number } {
  const sorted = requests.map(([, , , , created, at]) => at - created).sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99) };
}

/** The first request of each event: one that is sent twice is no more than one. */
function createArrivals() {
  const first = new Map<string, Request>();
  return {
    add(requests: readonly Request[]): void {
      for (const request of requests) if (!first.has(request[1])) first.set(request[1], request);
    },
    count: () => first.size,
    requests: () => [...first.values()],
  };
}

/** A run at a fixed rate; returns the records of these tenants' receivers. */
async function calm(bench: Bench, tenants: readonly string[], perSecond: number, seconds: number) {
  const before = await bench.receiver.collect();
  const paths = new Set(tenants.map((tenantId) => `/ok/${tenantId}`));
  const total = await publishOpen(bench.nats, tenants, perSecond, seconds);
  const arrivals = createArrivals();
  await eventually(
    async () => {
      const collected = await bench.receiver.collect();
      arrivals.add(collected.requests.filter(([path]) => paths.has(path)));
      return arrivals.count() >= total;
    },
    { timeoutMs: 60_000, everyMs: 100, what: `${total} deliveries` },
  );
  const requests = arrivals.requests();
  const after = await bench.receiver.collect();
  return { requests, ...latencies(requests), connections: after.connections - before.connections };
}

/** As many as it takes: all events are there before the service may begin. */
async function throughput(bench: Bench, tenants: readonly string[], count: number) {
  await bench.receiver.collect();
  for (let at = 0; at < count; at += 2000) {
    const events = Array.from({ length: Math.min(2000, count - at) }, (_, index) =>
      messageEvent(tenants[index % tenants.length] ?? "", { body: "Your code is 1234" }),
    );
    await publishEvents(bench.nats, events);
  }
  const arrivals = createArrivals();
  await eventually(
    async () => {
      arrivals.add((await bench.receiver.collect()).requests);
      return arrivals.count() >= count;
    },
    { timeoutMs: 120_000, everyMs: 100, what: `${count} deliveries` },
  );
  const times = arrivals
    .requests()
    .map(([, , , , , at]) => at)
    .sort((a, b) => a - b);
  const from = times[Math.floor(times.length * 0.1)] ?? 0;
  const to = times[Math.floor(times.length * 0.9)] ?? 0;
  return { perSecond: (times.length * 0.8 * 1000) / (to - from) };
}

/** Deliveries that wait for an hour, as an outage of many endpoints would leave them. */
async function addWaiting(bench: Bench, count: number): Promise<void> {
  const queue = createDeliveryQueue(bench.db, {
    retentionMs: 3_600_000,
    owner: "",
    redactDelivered: false,
  });
  const endpoints = await addTenants(bench, "fail", 50);
  for (let at = 0; at < count; at += 1000) {
    await queue.insert(
      Array.from({ length: 1000 }, (_, index) => {
        const eventId = newId("event");
        const endpointId = `whe_waiting_${index % endpoints.length}`;
        return {
          id: deliveryId(eventId, endpointId),
          tenantId: endpoints[index % endpoints.length] ?? "",
          endpointId,
          eventId,
          eventType: "message.status_changed",
          body: "{}".padEnd(700, " "),
          attemptsLeft: 3,
          createdAtMs: Date.now(),
          activatedAtMs: Date.now(),
          dueAtMs: Date.now() + 3_600_000,
          lease: undefined,
        };
      }),
    );
  }
}

/** Removes the deliveries of `addWaiting`. */
async function removeWaiting(bench: Bench): Promise<void> {
  await bench.db.collection("deliveries").deleteMany({ endpoint_id: /^whe_waiting_/ });
}

/** A disturbance during a run; `prepare` comes before it and `clear` after it. */
type Disturbance = {
  readonly prepare?: () => Promise<unknown>;
  readonly disturb: () => Promise<unknown>;
  readonly clear?: () => Promise<unknown>;
};

/**
 * A run beside a disturbance, over the mean of calm runs right before and after it: a machine that
 * has other things to do would otherwise decide the ratio. Nothing of it is there in the calm runs.
 */
async function disturbed(
  bench: Bench,
  tenants: readonly string[],
  perSecond: number,
  { prepare, disturb, clear }: Disturbance,
): Promise<{ ratio: number; p99: number; calmP99: number }> {
  const before = await calm(bench, tenants, perSecond, SECONDS);
  await prepare?.();
  const [{ p99 }] = await Promise.all([calm(bench, tenants, perSecond, SECONDS), disturb()]);
  await clear?.();
  const after = await calm(bench, tenants, perSecond, SECONDS);
  const calmP99 = (before.p99 + after.p99) / 2;
  return { ratio: p99 / calmP99, p99, calmP99 };
}

/** Healthy endpoints' p99 while a tenth as many hang and 10,000 retries wait, over their calm p99. */
async function isolation(bench: Bench, healthy: readonly string[]): Promise<Row> {
  const hanging = await addTenants(bench, "hang", HEALTHY / 9);
  const { ratio, p99, calmP99 } = await disturbed(bench, healthy, HALF_RATE, {
    prepare: () => addWaiting(bench, 10_000),
    disturb: () => publishOpen(bench.nats, hanging, HALF_RATE / 9, SECONDS),
    clear: () => removeWaiting(bench),
  });
  return {
    path: "healthy endpoints' p99 while 10 % hang, 10,000 retries wait",
    budget: "≤ 2 × calm",
    aim: "≤ 1.2 ×",
    measured: `${ratio.toFixed(2)} × (${p99} ms beside ${calmP99} ms)`,
    met: ratio <= 2,
    figures: { ratio, p99_ms: p99, calm_p99_ms: calmP99 },
  };
}

/** Other tenants' p99 while one sends a hundred times as much, over their p99 without it. */
async function noisyTenant(bench: Bench, tenants: readonly string[]): Promise<Row> {
  const quiet = tenants.slice(0, 20);
  const noisy = tenants.slice(20, 21);
  const { ratio, p99, calmP99 } = await disturbed(bench, quiet, 5 * quiet.length, {
    disturb: () => publishOpen(bench.nats, noisy, 500, SECONDS),
  });
  return {
    path: "others' p99 beside a tenant at 100 × their rate",
    budget: "≤ 2 × alone",
    aim: "≤ 1.2 ×",
    measured: `${ratio.toFixed(2)} × (${p99} ms beside ${calmP99} ms)`,
    met: ratio <= 2,
    figures: { ratio, p99_ms: p99, calm_p99_ms: calmP99 },
  };
}

/** Memory of the process before and after 100,000 retries wait. */
async function memory(bench: Bench): Promise<Row> {
  const rss = async () => (await bench.webhook.metric("process_resident_memory_bytes")) / 1_048_576;
  const before = await rss();
  await addWaiting(bench, 100_000);
  // Several polls go by while they wait.
  await new Promise((resolve) => setTimeout(resolve, 3000));
  const after = await rss();
  return {
    path: "memory of the process over 100,000 waiting retries",
    budget: "flat (+ 20 MiB)",
    aim: "",
    measured: `${before.toFixed(0)} → ${after.toFixed(0)} MiB`,
    met: after - before <= 20,
    figures: { before_mib: before, after_mib: after },
  };
}

const servers = await startOwnServers();
const certificates = testCertificates();
const prefix = freshDatabase("bench_webhook");
const stores = await openWebhookStores(servers, prefix);
const receiver = await startReceiverProcess(certificates);
const webhook = await startWebhookProcess(
  webhookSettings(servers, prefix, [receiver.port], certificates.caFile),
);
const bench: Bench = { nats: stores.nats, db: stores.mongo.db, webhook, receiver };
try {
  const healthy = await addTenants(bench, "ok", HEALTHY);
  await throughput(bench, healthy, 3000);
  const cpuBefore = await webhook.metric("process_cpu_seconds_total");
  const most = await throughput(bench, healthy, BACKLOG);
  const cpuUs = (((await webhook.metric("process_cpu_seconds_total")) - cpuBefore) / BACKLOG) * 1e6;
  const half = await calm(bench, healthy, HALF_RATE, SECONDS);
  const rows: Row[] = [
    {
      path: "deliveries per second, HTTPS keep-alive, one process",
      budget: "1,500/s",
      aim: "3,000/s",
      measured: `${most.perSecond.toFixed(0)}/s (${cpuUs.toFixed(0)} µs CPU each)`,
      met: most.perSecond >= 1500,
      figures: { per_second: most.perSecond, cpu_us_per_delivery: cpuUs },
    },
    {
      path: `event → receiver, p99 at ${HALF_RATE}/s`,
      budget: "≤ 500 ms",
      aim: "",
      measured: `${half.p99} ms (p50 ${half.p50} ms)`,
      met: half.p99 <= 500,
      figures: { p50_ms: half.p50, p99_ms: half.p99 },
    },
    {
      path: "requests on a connection that was there already",
      budget: "≥ 95 %",
      aim: "",
      measured: `${((1 - half.connections / half.requests.length) * 100).toFixed(1)} %`,
      met: half.connections / half.requests.length <= 0.05,
      figures: { new_connections: half.connections, requests: half.requests.length },
    },
  ];
  rows.push(await noisyTenant(bench, healthy));
  rows.push(await isolation(bench, healthy));
  rows.push(await memory(bench));
  report("webhook", rows);
} finally {
  await webhook.stop();
  await receiver.stop();
  await stores.close();
  await servers.stop();
}
