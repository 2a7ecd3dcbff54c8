/** The wallet's metrics, and the check of its own books that feeds one of them. */

import type { Logger } from "../shared/core/logger.ts";
import { startLoop } from "../shared/flow/periodic.ts";
import {
  Counter,
  DURATION_BUCKETS_S,
  Gauge,
  Histogram,
  type Registry,
} from "../shared/io/metrics.ts";
import type { Outbox } from "../shared/io/outbox.ts";
import { watchOutboxAge } from "../shared/io/outbox-age.ts";
import type { CheckWallets } from "./app/reconcile.ts";
import type { SettleResult } from "./app/settle-messages.ts";
import type { SweepResult } from "./app/sweep.ts";

/** Names of breaches in the log, per check. */
const LOGGED_MAX = 100;

/** What the wallet reports. */
export type WalletMetrics = {
  onFlush(commands: number, durationMs: number): void;
  onSettled(result: SettleResult["kind"]): void;
  onSweep(result: SweepResult): void;
  onCheck(breaches: number, durationMs: number): void;
  /** Registers what is read when metrics are scraped. */
  watch(sources: {
    readonly lag: () => Promise<number>;
    readonly oldestMs: () => Promise<number>;
    readonly outbox: Outbox["backlog"];
    readonly deadLetters: () => Promise<number>;
    readonly queue: { readonly pending: number };
  }): void;
};

/** Registers the wallet's metrics. */
export function createWalletMetrics(registry: Registry): WalletMetrics {
  const registers = [registry];
  const flushSeconds = new Histogram({
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
    help: "Settlements asked for, by result; any `impossible` needs a person.",
    labelNames: ["result"],
    registers,
  });
  // An alert looks for its rise, which the first one is only if there was a 0 before it.
  settlements.labels("impossible").inc(0);
  const swept = new Counter({
    name: "wallet_swept_reservations_total",
    help: "Reservations that stayed open past the grace time, by what was done.",
    labelNames: ["action"],
    registers,
  });
  const breaches = new Gauge({
    name: "wallet_check_breaches",
    help: "Broken invariants found by the last check of the books; anything but 0 needs a person.",
    registers,
  });
  const checkSeconds = new Gauge({
    name: "wallet_check_duration_seconds",
    help: "How long the last check of the books took.",
    registers,
  });
  return {
    onFlush(count, durationMs) {
      commands.inc(count);
      flushSeconds.observe(durationMs / 1000);
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

function watch(registry: Registry, sources: Parameters<WalletMetrics["watch"]>[0]): void {
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
    help: "Message events that contradict the books; anything but 0 needs a person.",
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

/** Checks the books now and then, for the metric; the first time after one interval. */
export function startSelfCheck(options: {
  readonly checkWallets: CheckWallets;
  /** 0 never checks. */
  readonly intervalMs: number;
  readonly metrics: Pick<WalletMetrics, "onCheck">;
  readonly log: Logger;
}): { close(): Promise<void> } {
  const { checkWallets, intervalMs, metrics, log } = options;
  if (intervalMs === 0) return { close: () => Promise.resolve() };
  let isFirst = true;
  return startLoop({
    name: "wallet self-check",
    intervalMs,
    log,
    async work(signal) {
      if (isFirst) {
        isFirst = false;
        return false;
      }
      const startedMs = performance.now();
      let count = 0;
      for await (const progress of checkWallets("", signal)) {
        for (const { invariant, what, ids } of progress.breaches) {
          count += 1;
          if (count <= LOGGED_MAX) log.error({ invariant, ids, breach: what }, "invariant broken");
        }
      }
      metrics.onCheck(count, performance.now() - startedMs);
      return false;
    },
  });
}
