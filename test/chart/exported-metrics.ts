/** The metrics that the code registers, by asking the code itself. */
import { createAccessLog } from "../../gateway/http/access-log.ts";
import {
  createCampaignMetrics,
  registerMetrics as registerCampaignMetrics,
} from "../../services/campaign/metrics.ts";
import { createCarrierMetrics } from "../../services/carrier/metrics.ts";
import { createConsentMetrics } from "../../services/consent/metrics.ts";
import type { OpenMessaging } from "../../services/messaging/create-messaging.ts";
import { registerMetrics } from "../../services/messaging/metrics.ts";
import { createLogger } from "../../services/shared/io/log.ts";
import { createMetrics, type Registry } from "../../services/shared/io/metrics.ts";
import type { Outbox } from "../../services/shared/io/outbox.ts";
import { watchOutboxAge } from "../../services/shared/io/outbox-age.ts";
import { rpcMetrics } from "../../services/shared/io/rpc-metrics.ts";
import { createWalletMetrics } from "../../services/wallet/metrics.ts";
import { addWebhookGauges, createWebhookMetrics } from "../../services/webhook/metrics.ts";

/** A registry with the metrics of every service, without values. */
export function registryOfEverything(): Registry {
  const metrics = createMetrics();
  const count = async () => 0;
  const outbox = { backlog: async () => ({ count: 0, oldestMs: 0 }) } as unknown as Outbox;
  rpcMetrics(metrics);
  createAccessLog({ log: createLogger("test", "silent"), metrics }, false);
  createWalletMetrics(metrics).watch({
    lag: count,
    oldestMs: count,
    outbox: outbox.backlog,
    deadLetters: count,
    queue: { pending: 0 },
  });
  const slots = { all: 0, slow: 0 };
  const figures = () => ({ oldestDueMs: 0, waiting: 0, slots }) as never;
  createWebhookMetrics(metrics);
  addWebhookGauges(metrics, { figures, eventLag: count, deadLetters: count });
  // Only metrics that are read at a scrape.
  const queries = { queues: async () => [], countQuiet: count };
  const messaging = { queries } as unknown as OpenMessaging;
  registerMetrics(metrics, messaging, outbox, () => []);
  watchOutboxAge(metrics, "sender_id", outbox.backlog);
  createConsentMetrics(metrics, { outbox, unowned: count });
  createCampaignMetrics(metrics);
  registerCampaignMetrics(metrics, {
    outbox,
    eventLag: count,
    deadLetters: count,
    feeding: () => ({ campaigns: 0, failingMs: 0 }),
  });
  createCarrierMetrics(metrics, () => new Map(), { pending: 0, setAside: 0 });
  return metrics;
}

const SUFFIXES: Readonly<Record<string, readonly string[]>> = {
  histogram: ["_bucket", "_sum", "_count"],
  summary: ["", "_sum", "_count"],
};

/** Names of the series that Prometheus would store. */
export async function seriesNames(metrics: Registry): Promise<Set<string>> {
  const all = await metrics.getMetricsAsJSON();
  return new Set(
    all.flatMap(({ name, type }) =>
      (SUFFIXES[String(type)] ?? [""]).map((suffix) => `${name}${suffix}`),
    ),
  );
}

/** The service's own metrics in Prometheus' text form, each with one made-up sample: without any it is not checked. */
export async function oneSampleOfEach(metrics: Registry): Promise<string> {
  const all = await metrics.getMetricsAsJSON();
  // The names of Node's and the process's figures are prom-client's.
  const own = all.filter(({ name }) => !/^(nodejs|process)_/.test(name));
  const lines = own.flatMap(({ name, help, type }) => [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${type}`,
    ...(String(type) === "histogram"
      ? [`${name}_bucket{le="+Inf"} 1`, `${name}_sum 1`, `${name}_count 1`]
      : [`${name} 1`]),
  ]);
  return `${lines.join("\n")}\n`;
}

/** Metric names that a PromQL expression asks for. */
export function namesIn(expression: string): string[] {
  const bare = expression.replace(/"[^"]*"/g, "").replace(/\b(by|without) *\([^)]*\)/g, "");
  return [...bare.matchAll(/\b([a-z]\w*_\w+)\b(?=[{[])/g)].map(([, name = ""]) => name);
}
