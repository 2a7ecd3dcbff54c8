import { Counter, Gauge, type Registry } from "../shared/io/metrics.ts";
import type { Outbox } from "../shared/io/outbox.ts";
import { watchOutboxAge } from "../shared/io/outbox-age.ts";
import type { FeedingFigures } from "./app/feeder.ts";

/** Counts what the feeder does. No label names a tenant or a campaign: their number has no limit. */
export type CampaignMetrics = { onChunk(rows: number): void };

/** Registers the metrics of the campaign service. */
export function registerMetrics(
  registry: Registry,
  sources: {
    readonly outbox: Pick<Outbox, "backlog">;
    readonly eventLag: () => Promise<number>;
    readonly deadLetters: () => Promise<number>;
    readonly feeding: () => FeedingFigures;
  },
): void {
  watchOutboxAge(registry, "campaign", sources.outbox.backlog);
  const gauge = (name: string, help: string, read: () => number | Promise<number>) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        this.set(await Promise.resolve(read()).catch(() => Number.NaN));
      },
    });
  gauge("campaign_event_lag", "Events of messages not yet acknowledged.", sources.eventLag);
  gauge("campaign_dead_letters", "Events put aside.", sources.deadLetters);
  const { feeding } = sources;
  const leased = "Campaigns that this process feeds or takes back.";
  gauge("campaign_leased_campaigns", leased, () => feeding().campaigns);
  const failing = "How long the steps of the longest failing campaign have failed.";
  gauge("campaign_feeding_failing_seconds", failing, () => feeding().failingMs / 1000);
}

/** Creates the counters. */
export function createCampaignMetrics(registry: Registry): CampaignMetrics {
  const registers = [registry];
  const chunks = new Counter({ name: "campaign_chunks_total", help: "Chunks fed.", registers });
  const rows = new Counter({ name: "campaign_rows_fed_total", help: "Rows fed.", registers });
  return {
    onChunk(count) {
      chunks.inc();
      rows.inc(count);
    },
  };
}
