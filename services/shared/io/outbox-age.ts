import { Gauge, type Registry } from "./metrics.ts";
import type { Outbox } from "./outbox.ts";

/**
 * Registers `<owner>_outbox_oldest_seconds`, computed at each scrape. It is NaN while the database is away: an
 * error would fail the whole scrape.
 */
export function watchOutboxAge(
  registry: Registry,
  owner: "campaign" | "consent" | "messaging" | "sender_id" | "wallet",
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
