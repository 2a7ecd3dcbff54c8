import { Counter, Gauge, type Registry } from "../shared/io/metrics.ts";
import type { Outbox } from "../shared/io/outbox.ts";
import { watchOutboxAge } from "../shared/io/outbox-age.ts";

/** Counts inbound messages. No label names a tenant: their number has no limit. */
export type ConsentMetrics = { onReceived(isOwned: boolean): void };

/** Registers the metrics of the consent service. */
export function createConsentMetrics(
  registry: Registry,
  sources: {
    readonly outbox: Pick<Outbox, "backlog">;
    readonly unowned: () => Promise<number>;
  },
): ConsentMetrics {
  watchOutboxAge(registry, "consent", sources.outbox.backlog);
  const registers = [registry];
  const received = new Counter({
    name: "consent_inbound_messages_total",
    help: "Inbound messages, by whether a tenant owns their number.",
    labelNames: ["owned"],
    registers,
  });
  // The alert fires on an increase, so both series must exist with 0 before the first message.
  for (const isOwned of [true, false]) received.labels(String(isOwned)).inc(0);
  new Gauge({
    name: "consent_unowned_messages",
    help: "Stored inbound messages that no tenant owns; counted up to 10,000.",
    registers,
    async collect() {
      this.set(await sources.unowned().catch(() => Number.NaN));
    },
  });
  return { onReceived: (isOwned) => received.labels(String(isOwned)).inc() };
}
