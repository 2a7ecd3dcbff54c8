/** Conformance suite of the port `DeliveryQueue`, on MongoDB. */
import { expect } from "chai";
import { newId } from "../../../services/shared/core/ids.ts";
import type { DeliveryQueue, NewDelivery } from "../../../services/webhook/app/ports.ts";
import type { Claimed } from "../../../services/webhook/domain/delivery.ts";
import { createDeliveryQueue } from "../../../services/webhook/store/queue.ts";
import { useWebhookStores } from "../../support/webhook-harness.ts";

const LEASE_MS = 24_000;

describe("the queue of webhook deliveries", () => {
  const stores = useWebhookStores();
  let queue: DeliveryQueue;
  before(() => {
    queue = open("first");
  });

  function open(owner: string): DeliveryQueue {
    const options = { retentionMs: 3_600_000, owner, redactDelivered: false };
    return createDeliveryQueue(stores().mongo.db, options);
  }

  function newDelivery(dueAtMs: number, about: Partial<NewDelivery> = {}): NewDelivery {
    return {
      id: newId("webhookDelivery"),
      tenantId: "ten_1",
      endpointId: newId("webhookEndpoint"),
      eventId: newId("event"),
      eventType: "message.status_changed",
      body: "{}",
      attemptsLeft: 5,
      createdAtMs: dueAtMs,
      activatedAtMs: dueAtMs,
      lease: undefined,
      dueAtMs,
      ...about,
    };
  }

  const leaseUntil = (untilMs: number) => ({ id: newId("request"), untilMs });

  /** Stores a delivery and claims it ahead by `byMs`. */
  async function claimOne(
    dueAtMs: number,
    byMs: number,
    nowMs: number,
    more: { body?: string; redacts?: boolean } = {},
  ): Promise<Claimed[]> {
    const delivery = newDelivery(dueAtMs, { activatedAtMs: nowMs, ...more });
    await queue.insert([delivery]);
    const requests = [{ endpointId: delivery.endpointId, max: 10 }];
    return queue.claim(requests, leaseUntil(nowMs + LEASE_MS), nowMs, byMs);
  }

  const nextAttemptOf = async (claimed: Claimed | undefined) => {
    const deliveries = stores().mongo.db.collection<{ _id: string; next_attempt_at: Date }>(
      "deliveries",
    );
    const found = await deliveries.findOne({ _id: claimed?.id ?? "" });
    expect(found).to.not.have.any.keys("lease_id", "lease_owner", "due_at");
    return found?.next_attempt_at.getTime();
  };

  it("stores each delivery once, and checks each of a batch alone", async () => {
    const nowMs = Date.now();
    const [first, second] = [newDelivery(nowMs), newDelivery(nowMs)];
    expect(await queue.insert([first])).to.deep.equal(["stored"]);
    const invalid = newDelivery(nowMs, { id: `no_${newId("webhookDelivery")}` });
    const changed = { ...first, body: "changed" };
    const [known, refused, stored] = await queue.insert([changed, invalid, second]);
    expect([known, stored]).to.deep.equal(["known", "stored"]);
    expect(refused).to.be.instanceOf(Error);
    expect(await bodyOf(first.id)).to.equal("{}");
  });

  it("finds endpoints with due deliveries, the earliest first, and no others", async () => {
    const nowMs = Date.now() - 1_000_000;
    const later = newDelivery(nowMs - 10);
    const earlier = [newDelivery(nowMs - 20), newDelivery(nowMs - 5)].map((delivery) => ({
      ...delivery,
      endpointId: "whe_earlier",
    }));
    const notYet = newDelivery(nowMs + 1);
    await queue.insert([later, ...earlier, notYet]);
    const found = await queue.findDueEndpoints(nowMs);
    const mine = found.filter(({ endpointId }) =>
      [later, ...earlier, notYet].some((delivery) => delivery.endpointId === endpointId),
    );
    expect(mine).to.deep.equal([
      { endpointId: "whe_earlier", firstDueAtMs: nowMs - 20 },
      { endpointId: later.endpointId, firstDueAtMs: nowMs - 10 },
    ]);
  });

  it("claims at most the number asked for, the oldest first, and each delivery once", async () => {
    const nowMs = Date.now();
    const endpointId = newId("webhookEndpoint");
    const stored = [3, 1, 2].map((age) => newDelivery(nowMs - age, { endpointId }));
    await queue.insert(stored);
    const claim = (max: number) =>
      queue.claim([{ endpointId, max }], leaseUntil(nowMs + LEASE_MS), nowMs, nowMs);
    const claims = await Promise.all([claim(2), claim(2), claim(2)]);
    const ids = claims.flat().map(({ id }) => id);
    expect(new Set(ids).size).to.equal(ids.length);
    for (const one of claims) {
      const dueAt = one.map(({ dueAtMs }) => dueAtMs);
      expect(dueAt).to.deep.equal(dueAt.toSorted());
    }
    ids.push(...(await claim(3)).map(({ id }) => id));
    expect(ids).to.have.members(stored.map(({ id }) => id));
  });

  it("renews and writes only under the lease, and says which leases ended", async () => {
    const nowMs = Date.now();
    const [held] = await claimOne(nowMs, nowMs, nowMs);
    const [lost] = await claimOne(nowMs, nowMs, nowMs);
    if (held === undefined || lost === undefined) throw new Error("nothing was claimed");
    const endMs = nowMs + LEASE_MS;
    const requests = [{ endpointId: lost.endpointId, max: 1 }];
    await queue.claim(requests, leaseUntil(endMs + LEASE_MS), endMs, endMs);
    expect(await queue.renew([held, lost], endMs + 1)).to.deep.equal(new Set([held.id]));
    const next = { status: "succeeded" } as const;
    const results = [held, lost].map((claimed) => ({
      ...{ claimed, attempt: undefined, next, atMs: nowMs },
    }));
    expect(await queue.writeResults(results)).to.equal(1);
    expect(await queue.writeResults(results)).to.equal(2);
  });

  const TEXT = {
    data: { object: { body: "Your code is 1234", id: "msg_1" } },
    type: "message.sent",
  };
  const bodyOf = async (id: string) => {
    const found = stores().mongo.db.collection<{ _id: string; body?: string }>("deliveries");
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
    const lease = leaseUntil(endMs + LEASE_MS);
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
