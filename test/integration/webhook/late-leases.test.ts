/** A dispatcher on a real MongoDB, paused for longer than its leases. */
import { expect } from "chai";
import { newId } from "../../../services/shared/core/ids.ts";
import { createLogger } from "../../../services/shared/io/log.ts";
import { type Dispatcher, startDispatcher } from "../../../services/webhook/app/dispatcher.ts";
import type { DeliveryQueue } from "../../../services/webhook/app/ports.ts";
import { createConcurrencyLimiter } from "../../../services/webhook/domain/concurrency-limits.ts";
import type { Claimed } from "../../../services/webhook/domain/delivery.ts";
import { createDeliveryQueue } from "../../../services/webhook/store/queue.ts";
import { eventually } from "../../support/poll.ts";
import { useWebhookStores } from "../../support/webhook-harness.ts";

const LEASE_MS = 12_000;
const COUNT = 400;
const LIMITS = {
  perEndpoint: 128,
  perTenant: 256,
  slowPerTenant: 192,
  total: 4096,
  slowTotal: 2048,
  unprovenTotal: 3072,
  freshTotal: 256,
  freshWindow: 1,
  window: 2,
  slowWindow: 16,
  hangMs: 10_000,
};

describe("a webhook process that was paused for longer than its leases", () => {
  const stores = useWebhookStores();
  let queue: DeliveryQueue;
  let dispatcher: Dispatcher | undefined;

  before(() => {
    const options = { retentionMs: 3_600_000, owner: "one", redactDelivered: false };
    queue = createDeliveryQueue(stores().mongo.db, options);
  });
  after(() => dispatcher?.close());

  async function insertDue(nowMs: number): Promise<void> {
    const endpointId = newId("webhookEndpoint");
    const deliveries = Array.from({ length: COUNT }, (_, at) => ({
      id: newId("webhookDelivery"),
      tenantId: "ten_1",
      endpointId,
      eventId: newId("event"),
      eventType: "message.status_changed",
      body: "{}",
      attemptsLeft: 5,
      createdAtMs: nowMs,
      activatedAtMs: nowMs,
      lease: undefined,
      dueAtMs: nowMs - COUNT + at,
    }));
    await queue.insert(deliveries);
  }

  it("drops waiting deliveries, claims them again, and starts no attempt with an expired lease", async () => {
    let aheadMs = 0;
    const clock = { now: () => Date.now() + aheadMs };
    const still = Promise.withResolvers<void>();
    const begun: { readonly id: string; readonly dueAtMs: number; readonly leftMs: number }[] = [];
    await insertDue(clock.now());
    async function attempt(claimed: Claimed) {
      if (aheadMs === 0) await still.promise;
      else {
        const { id, dueAtMs, leaseUntilMs } = claimed;
        begun.push({ id, dueAtMs, leftMs: leaseUntilMs - clock.now() });
      }
      const next = { status: "succeeded" } as const;
      await queue.writeResults([{ claimed, attempt: undefined, next, atMs: clock.now() }]);
      return { responseMs: 5, written: Promise.resolve() };
    }
    dispatcher = startDispatcher({
      clock,
      log: createLogger("test", "silent"),
      queue,
      limiter: createConcurrencyLimiter(LIMITS),
      bufferLimits: { perEndpoint: 1024, total: 8192 },
      attempt,
      isBlocked: () => false,
      pollIntervalMs: 50,
      leaseMs: LEASE_MS,
    });
    const allLeased = () => dispatcher?.figures.waiting === COUNT - 1;
    try {
      await eventually(allLeased, { what: "all leased" });
    } finally {
      aheadMs = LEASE_MS + 5000;
      still.resolve();
    }
    const deliveries = stores().mongo.db.collection("deliveries");
    await eventually(async () => (await deliveries.countDocuments({ status: "pending" })) === 0, {
      timeoutMs: 30_000,
      what: "the end of all deliveries",
    });
    expect(begun.filter(({ leftMs }) => leftMs <= 0)).to.deep.equal([]);
    expect(new Set(begun.map(({ id }) => id)).size).to.be.within(COUNT - 1, COUNT);
    const inOrder = begun.toSorted((a, b) => a.dueAtMs - b.dueAtMs);
    expect(begun.map(({ id }) => id)).to.deep.equal(inOrder.map(({ id }) => id));
  });
});
