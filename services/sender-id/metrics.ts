import type { Registry } from "../shared/io/metrics.ts";
import type { Outbox } from "../shared/io/outbox.ts";
import { watchOutboxAge } from "../shared/io/outbox-age.ts";

/** Registers `sender_id_outbox_oldest_seconds`. */
export function registerMetrics(registry: Registry, outbox: Outbox): void {
  watchOutboxAge(registry, "sender_id", outbox.backlog);
}
