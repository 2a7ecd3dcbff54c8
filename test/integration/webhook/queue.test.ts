/** The queue of deliveries on a real MongoDB: claims ahead of time, and releases. */
import { expect } from "chai";
import { newId } from "../../../services/shared/core/ids.ts";
import type { DeliveryQueue } from "../../../services/webhook/app/ports.ts";
import type { Claimed } from "../../../services/webhook/domain/delivery.ts";
import { createDeliveryQueue } from "../../../services/webhook/store/queue.ts";
import { freshDatabase } from "../../support/fresh-names.ts";
import { startServers, type TestServers } from "../../support/servers.ts";
import { openWebhookStores } from "../../support/webhook-harness.ts";

const LEASE_MS = 24_000;

describe("the queue of webhook deliveries", () => {
  let servers: TestServers;
  let stores: Awaited<ReturnType<typeof openWebhookStores>>;
  let queue: DeliveryQueue;

  before(async () => {
    servers = await startServers();
    stores = await openWebhookStores(servers, freshDatabase("webhook"));
    queue = open("first");
  });
  after(async () => {
    await stores?.close();
    await servers?.stop();
  });

  function open(owner: string): DeliveryQueue {
    const options = { retentionMs: 3_600_000, owner, redactDelivered: false };
    return createDeliveryQueue(stores.mongo.db, options);
  }

  /** Stores a delivery and claims it ahead by `byMs`. */
  async function claimOne(
    dueAtMs: number,
    byMs: number,
    nowMs: number,
    more: { body?: string; redacts?: boolean } = {},
  ): Promise<Claimed[]> {
    const endpointId = newId("webhookEndpoint");
    await queue.insert([
      {
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
        dueAtMs,
        ...more,
      },
    ]);
    const lease = { id: newId("request"), untilMs: nowMs + LEASE_MS };
    return queue.claim([{ endpointId, max: 10 }], lease, nowMs, byMs);
  }

  const nextAttemptOf = async (claimed: Claimed | undefined) => {
    const deliveries = stores.mongo.db.collection<{ _id: string; next_attempt_at: Date }>(
      "deliveries",
    );
    const found = await deliveries.findOne({ _id: claimed?.id ?? "" });
    expect(found).to.not.have.any.keys("lease_id", "lease_owner", "due_at");
    return found?.next_attempt_at.getTime();
  };

  const TEXT = {
    data: { object: { body: "Your code is 1234", id: "msg_1" } },
    type: "message.sent",
  };
  const bodyOf = async (id: string) => {
    const found = stores.mongo.db.collection<{ _id: string; body?: string }>("deliveries");
    return (await found.findOne({ _id: id }))?.body;
  };

  for (const status of ["succeeded", "failed", "dropped", "pending"] as const) {
    it(`removes the text of a body to redact when it is ${status}, unless it is pending`, async () => {
      const nowMs = Date.now();
      for (const redacts of [true, false]) {
        const body = JSON.stringify(TEXT);
        const [claimed] = await claimOne(nowMs, nowMs, nowMs, { body, redacts });
        if (claimed === undefined) throw new Error("nothing was claimed");
        const next =
          status === "pending"
            ? { status, attemptsLeft: 3, nextAttemptAtMs: nowMs + 1000 }
            : { status };
        await queue.writeResults([{ claimed, attempt: undefined, next, atMs: nowMs }]);
        const kept = await bodyOf(claimed.id);
        if (redacts && status !== "pending") {
          expect(kept).to.equal(
            '{"data":{"object":{"body":"","id":"msg_1"}},"type":"message.sent"}',
          );
        } else expect(kept).to.equal(body);
      }
    });
  }

  it("drops the bodies to redact with the pending deliveries of an endpoint", async () => {
    const nowMs = Date.now();
    for (const redacts of [true, false]) {
      const body = JSON.stringify(TEXT);
      const [claimed] = await claimOne(nowMs, nowMs, nowMs, { body, redacts });
      if (claimed === undefined) throw new Error("nothing was claimed");
      await queue.release([claimed], nowMs);
      expect(await queue.dropWaiting(claimed.endpointId, nowMs)).to.equal(1);
      expect(await bodyOf(claimed.id)).to.equal(redacts ? undefined : body);
    }
  });

  it("drops the deliveries of a disabled endpoint that were activated by then, and no later ones", async () => {
    const nowMs = Date.now();
    const [claimed] = await claimOne(nowMs, nowMs, nowMs);
    if (claimed === undefined) throw new Error("nothing was claimed");
    await queue.release([claimed], nowMs);
    expect(await queue.dropWaiting(claimed.endpointId, nowMs, nowMs - 1)).to.equal(0);
    expect(await queue.dropWaiting(claimed.endpointId, nowMs, nowMs)).to.equal(1);
  });

  it("claims deliveries due by then, with their due time, and no later ones", async () => {
    const nowMs = Date.now();
    const [claimed] = await claimOne(nowMs + 900, nowMs + 1000, nowMs);
    expect(claimed).to.include({ dueAtMs: nowMs + 900, leaseUntilMs: nowMs + LEASE_MS });
    expect(await claimOne(nowMs + 1100, nowMs + 1000, nowMs)).to.deep.equal([]);
  });

  it("claims no leased delivery before its lease ends, but deliveries ahead of their due time", async () => {
    const nowMs = Date.now();
    const [held] = await claimOne(nowMs - 5000, nowMs, nowMs);
    const endMs = nowMs + LEASE_MS;
    const requests = [{ endpointId: held?.endpointId ?? "", max: 10 }];
    const lease = { id: newId("request"), untilMs: endMs + LEASE_MS };
    expect(await queue.claim(requests, lease, endMs - 1, endMs + 999)).to.deep.equal([]);
    const [taken] = await queue.claim(requests, lease, endMs, endMs + 1000);
    expect(taken).to.include({ id: held?.id, dueAtMs: endMs, leaseId: lease.id });
  });

  it("releases at a stop: due deliveries are due now, others at their old time", async () => {
    const nowMs = Date.now();
    const due = await claimOne(nowMs - 5000, nowMs, nowMs);
    const ahead = await claimOne(nowMs + 900, nowMs + 1000, nowMs);
    await queue.release([...due, ...ahead], nowMs);
    expect(await nextAttemptOf(due[0])).to.equal(nowMs);
    expect(await nextAttemptOf(ahead[0])).to.equal(nowMs + 900);
  });

  it("releases the same after a crash, for the same instance only", async () => {
    const nowMs = Date.now();
    const due = await claimOne(nowMs - 5000, nowMs, nowMs);
    const ahead = await claimOne(nowMs + 900, nowMs + 1000, nowMs);
    expect(await open("second").releaseOwn(nowMs, LEASE_MS)).to.equal(0);
    expect(await open("").releaseOwn(nowMs, LEASE_MS)).to.equal(0);
    expect(await open("first").releaseOwn(nowMs, LEASE_MS)).to.be.at.least(2);
    expect(await nextAttemptOf(due[0])).to.equal(nowMs);
    expect(await nextAttemptOf(ahead[0])).to.equal(nowMs + 900);
  });
});
