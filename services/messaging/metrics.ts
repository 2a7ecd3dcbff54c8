import { singleFlight } from "../shared/flow/single-flight.ts";
import { Gauge, type Registry } from "../shared/io/metrics.ts";
import type { Outbox } from "../shared/io/outbox.ts";
import { watchOutboxAge } from "../shared/io/outbox-age.ts";
import type { OpenMessaging } from "./create-messaging.ts";

/**
 * Registers the metrics for operators and autoscaling; they are computed per scrape. A known connector without
 * messages shows 0, so that no graph is empty.
 */
export function registerMetrics(
  registry: Registry,
  messaging: OpenMessaging,
  outbox: Outbox,
  connectors: () => Iterable<string>,
): void {
  const readQueues = createQueueReader(messaging);
  const watch = (name: string, help: string, read: (queue: Queue) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ["connector"],
      registers: [registry],
      async collect() {
        const queues = await readQueues();
        if (queues === undefined) return;
        this.reset();
        for (const connector of connectors()) this.labels(connector).set(0);
        for (const queue of queues) this.labels(queue.connectorId).set(read(queue));
      },
    });
  watch(
    "messaging_waiting_messages",
    "Messages waiting for a connector, counted no further than 100,000 per priority class.",
    ({ waiting }) => waiting,
  );
  watch(
    "messaging_oldest_waiting_seconds",
    "Age of the oldest message waiting for a connector.",
    ({ oldestWaitingMs }) => oldestWaitingMs / 1000,
  );
  watch(
    "messaging_sending_messages",
    "Messages claimed by carriers and not yet answered.",
    ({ sending }) => sending,
  );
  new Gauge({
    name: "messaging_quiet_messages",
    help: "Messages that wait for the end of quiet hours, counted no further than 100,000.",
    registers: [registry],
    async collect() {
      const count = await messaging.queries.countQuiet().catch(() => undefined);
      if (count !== undefined) this.set(count);
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

type Queue = Awaited<ReturnType<OpenMessaging["queries"]["queues"]>>[number];

/**
 * Reads the queues once per scrape. Returns undefined while the database is down, so the last values stay: a
 * failing metric would fail the whole scrape.
 */
function createQueueReader({
  queries,
}: OpenMessaging): () => Promise<readonly Queue[] | undefined> {
  return singleFlight(() => queries.queues().catch(() => undefined));
}
