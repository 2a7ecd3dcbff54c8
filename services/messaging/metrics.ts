import { Gauge, type Registry } from "../shared/io/metrics.ts";
import type { Outbox } from "../shared/io/outbox.ts";
import { watchOutboxAge } from "../shared/io/outbox-age.ts";
import type { OpenMessaging } from "./messaging.ts";

/**
 * Registers the figures that operators and autoscaling read; asked for only when scraped. A
 * connector that is known and has nothing to do shows 0, so that no graph of it is empty.
 */
export function registerMetrics(
  registry: Registry,
  messaging: OpenMessaging,
  outbox: Outbox,
  connectors: () => Iterable<string>,
): void {
  const waiting = new Gauge({
    name: "messaging_waiting_messages",
    help: "Messages waiting for a connector, counted no further than 100,000 a lane.",
    labelNames: ["connector"],
    registers: [registry],
  });
  const oldest = new Gauge({
    name: "messaging_oldest_waiting_seconds",
    help: "Age of the oldest message waiting for a connector.",
    labelNames: ["connector"],
    registers: [registry],
  });
  new Gauge({
    name: "messaging_sending_messages",
    help: "Messages claimed by carriers and not yet answered.",
    labelNames: ["connector"],
    registers: [registry],
    async collect() {
      // While the database is away the last figures stand: a scrape that fails would take all others with it.
      const queues = await messaging.reads.queues().catch(() => undefined);
      if (queues === undefined) return;
      for (const gauge of [waiting, oldest, this]) {
        gauge.reset();
        for (const connector of connectors()) gauge.labels(connector).set(0);
      }
      for (const queue of queues) {
        waiting.labels(queue.connectorId).set(queue.waiting);
        oldest.labels(queue.connectorId).set(queue.oldestWaitingMs / 1000);
        this.labels(queue.connectorId).set(queue.sending);
      }
    },
  });
  new Gauge({
    name: "messaging_outbox_batches",
    help: "Committed batches of events not yet published.",
    registers: [registry],
    async collect() {
      const backlog = await outbox.backlog().catch(() => undefined);
      if (backlog !== undefined) this.set(backlog.count);
    },
  });
  watchOutboxAge(registry, "messaging", outbox.backlog);
}
