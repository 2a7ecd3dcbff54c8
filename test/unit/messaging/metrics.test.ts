import { expect } from "chai";
import type { OpenMessaging } from "../../../services/messaging/create-messaging.ts";
import { registerMetrics } from "../../../services/messaging/metrics.ts";
import { createMetrics } from "../../../services/shared/io/metrics.ts";
import type { Outbox } from "../../../services/shared/io/outbox.ts";

describe("messaging's figures", () => {
  it("the queue metrics are read at the scrape, with one query", async () => {
    let looks = 0;
    const queues = async () => {
      looks += 1;
      await new Promise((resolve) => setTimeout(resolve, 5));
      return [{ connectorId: "smsc", waiting: looks, sending: 7, oldestWaitingMs: 2500 }];
    };
    const registry = createMetrics();
    const backlog = async () => ({ count: 0, oldestMs: 0 });
    registerMetrics(
      registry,
      { queries: { queues, countQuiet: async () => 3 } } as unknown as OpenMessaging,
      { backlog } as Outbox,
      () => ["smsc", "idle"],
    );
    for (const scrape of [1, 2]) {
      const text = await registry.metrics();
      expect(looks).to.equal(scrape);
      expect(text).to.include(`messaging_waiting_messages{connector="smsc"} ${scrape}\n`);
      expect(text).to.include('messaging_waiting_messages{connector="idle"} 0\n');
      expect(text).to.include('messaging_oldest_waiting_seconds{connector="smsc"} 2.5\n');
      expect(text).to.include('messaging_sending_messages{connector="smsc"} 7\n');
      expect(text).to.include("messaging_quiet_messages 3\n");
    }
  });
});
