/**
 * The webhook service's figures, each against its budget, in one run on real processes: webhook
 * service, HTTPS keep-alive receivers, MongoDB and NATS on this machine; events from this process.
 * Latency runs from the instant of the event to the receiver having read the whole request.
 *
 * `node test/load/bench-webhook.ts [--seconds N]`; about a minute and a half.
 */
import { newId } from "../../services/shared/core/ids.ts";
import type { Nats } from "../../services/shared/io/nats.ts";
import { freshDatabase } from "../support/fresh-names.ts";
import { eventually } from "../support/poll.ts";
import { startServers } from "../support/servers.ts";
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
import { report } from "./report.ts";

const secondsAt = process.argv.indexOf("--seconds");
const SECONDS = secondsAt < 0 ? 8 : Number(process.argv[secondsAt + 1]);
const HEALTHY = 90;
const TICK_MS = 10;

type Bench = {
  readonly nats: Nats;
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

/** Publishes events evenly spaced, to the tenants by turn, whatever the service does. */
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

/** A calm run at a fixed rate; answers what the healthy receivers saw. */
async function calm(bench: Bench, tenants: readonly string[], perSecond: number, seconds: number) {
  await bench.receiver.collect();
  const before = await bench.receiver.collect();
  const total = await publishOpen(bench.nats, tenants, perSecond, seconds);
  const requests: Request[] = [];
  await eventually(
    async () => {
      requests.push(...(await bench.receiver.collect()).requests);
      return requests.length >= total;
    },
    { timeoutMs: 60_000, everyMs: 100, what: `${total} deliveries` },
  );
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
  const requests: Request[] = [];
  await eventually(
    async () => {
      requests.push(...(await bench.receiver.collect()).requests);
      return requests.length >= count;
    },
    { timeoutMs: 120_000, everyMs: 100, what: `${count} deliveries` },
  );
  const times = requests.map(([, , , , , at]) => at).sort((a, b) => a - b);
  const from = times[Math.floor(times.length * 0.1)] ?? 0;
  const to = times[Math.floor(times.length * 0.9)] ?? 0;
  return { perSecond: (times.length * 0.8 * 1000) / (to - from) };
}

const servers = await startServers();
const certificates = testCertificates();
const prefix = freshDatabase("bench_webhook");
const stores = await openWebhookStores(servers, prefix);
const receiver = await startReceiverProcess(certificates);
const webhook = await startWebhookProcess({
  ...webhookSettings(servers, prefix, [receiver.port], certificates.caFile),
});
const bench: Bench = { nats: stores.nats, webhook, receiver };
try {
  const healthy = await addTenants(bench, "ok", HEALTHY);
  const warm = await throughput(bench, healthy, 3000);
  process.stderr.write(`warm-up ${warm.perSecond.toFixed(0)}/s\n`);
  const cpu0 = await webhook.metric("process_cpu_seconds_total");
  const { perSecond } = await throughput(bench, healthy, 20_000);
  process.stderr.write(
    `cpu per delivery ${(((await webhook.metric("process_cpu_seconds_total")) - cpu0) / 20_000) * 1e6} us\n`,
  );
  process.stderr.write(`throughput ${perSecond.toFixed(0)}/s\n`);
  const half = await calm(bench, healthy, 750, SECONDS);
  process.stderr.write(`half p50 ${half.p50} p99 ${half.p99} ${half.connections}\n`);
} finally {
  await webhook.stop();
  await receiver.stop();
  await stores.close();
  await servers.stop();
  await certificates.remove();
}
void report;
