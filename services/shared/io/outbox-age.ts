import { Gauge, type Registry } from "./metrics.ts";
import type { Outbox } from "./outbox.ts";

/**
 * Registers `<owner>_outbox_oldest_seconds`; asked for only when scraped. While the database is away it is
 * not a number: a scrape that fails would take all other figures with it.
 */
export function watchOutboxAge(
  registry: Registry,
  owner: "messaging" | "sender_id" | "wallet",
  backlog: Outbox["backlog"],
): void {
  new Gauge({
    name: `${owner}_outbox_oldest_seconds`,
    help: "Age of the oldest event not yet published.",
    registers: [registry],
    async collect() {
      const known = await backlog().catch(() => undefined);
      this.set(known === undefined ? Number.NaN : known.oldestMs / 1000);
    },
  });
}
