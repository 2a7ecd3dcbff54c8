import {
  Counter,
  DURATION_BUCKETS_S,
  Gauge,
  Histogram,
  type Registry,
} from "../shared/io/metrics.ts";
import type { Outbox } from "../shared/io/outbox.ts";
import { watchOutboxAge } from "../shared/io/outbox-age.ts";
import type { WalletMetrics } from "./app/ports.ts";
import type { SweepResult } from "./app/sweep.ts";

/** The wallet's metrics in a registry. */
export type RegisteredMetrics = WalletMetrics & {
  onSweep(result: SweepResult): void;
  /** Registers the gauges that are read at each scrape. */
  watch(sources: {
    readonly lag: () => Promise<number>;
    readonly oldestMs: () => Promise<number>;
    readonly outbox: Outbox["backlog"];
    readonly deadLetters: () => Promise<number>;
    readonly queue: { readonly pending: number };
  }): void;
};

export function createWalletMetrics(registry: Registry): RegisteredMetrics {
  const registers = [registry];
  const commitSeconds = new Histogram({
    name: "wallet_flush_duration_seconds",
    help: "Time from taking a batch of commands until it is durable.",
    buckets: DURATION_BUCKETS_S,
    registers,
  });
  const commands = new Counter({
    name: "wallet_commands_total",
    help: "Commands decided.",
    registers,
  });
  const settlements = new Counter({
    name: "wallet_settlements_total",
    help: "Settlements requested, by result; any `impossible` needs an operator.",
    labelNames: ["result"],
    registers,
  });
  // The alert fires on an increase, so the series must exist with 0 before the first impossible settlement.
  settlements.labels("impossible").inc(0);
  const swept = new Counter({
    name: "wallet_swept_reservations_total",
    help: "Reservations that stayed open past the grace time, by action.",
    labelNames: ["action"],
    registers,
  });
  const breaches = new Gauge({
    name: "wallet_check_breaches",
    help: "Broken invariants found by the last ledger check; above 0 needs an operator.",
    registers,
  });
  const checkSeconds = new Gauge({
    name: "wallet_check_duration_seconds",
    help: "Duration of the last check of the ledger.",
    registers,
  });
  return {
    onCommit(count, durationMs) {
      commands.inc(count);
      commitSeconds.observe(durationMs / 1000);
    },
    onSettled: (result) => settlements.labels(result).inc(),
    onSweep({ checked, released, settled }) {
      swept.labels("checked").inc(checked);
      swept.labels("released").inc(released);
      swept.labels("settled").inc(settled);
    },
    onCheck(count, durationMs) {
      breaches.set(count);
      checkSeconds.set(durationMs / 1000);
    },
    watch: (sources) => watch(registry, sources),
  };
}

function watch(registry: Registry, sources: Parameters<RegisteredMetrics["watch"]>[0]): void {
  const registers = [registry];
  new Gauge({
    name: "wallet_settlement_lag",
    help: "Events not yet settled.",
    registers,
    async collect() {
      this.set(await sources.lag().catch(() => Number.NaN));
    },
  });
  new Gauge({
    name: "wallet_settlement_oldest_seconds",
    help: "Age of the oldest event not yet settled.",
    registers,
    async collect() {
      const ageMs = await sources.oldestMs().catch(() => Number.NaN);
      this.set(ageMs / 1000);
    },
  });
  watchOutboxAge(registry, "wallet", sources.outbox);
  new Gauge({
    name: "wallet_dead_letters",
    help: "Message events that contradict the ledger; anything but 0 needs an operator.",
    registers,
    async collect() {
      this.set(await sources.deadLetters().catch(() => Number.NaN));
    },
  });
  new Gauge({
    name: "wallet_commands_pending",
    help: "Commands waiting or being written.",
    registers,
    collect() {
      this.set(sources.queue.pending);
    },
  });
}
