/** Conformance suite of the port `DeliveryLog`, and of the changes that an owner requests in it, on MongoDB. */
import { expect } from "chai";
import type { ClientSession } from "mongodb";
import { newId } from "../../../services/shared/core/ids.ts";
import { runTransaction } from "../../../services/shared/io/mongo.ts";
import type {
  DeliveryFilter,
  DeliveryQueue,
  NewDelivery,
} from "../../../services/webhook/app/ports.ts";
import type {
  Attempt,
  Claimed,
  DeliveryStatus,
} from "../../../services/webhook/domain/delivery.ts";
import { migrate } from "../../../services/webhook/migrate.ts";
import { createDeliveries, type Deliveries } from "../../../services/webhook/store/delivery-log.ts";
import { createDeliveryQueue } from "../../../services/webhook/store/queue.ts";
import { idAt } from "../../support/ids-at.ts";
import { codeOf, useStoreDatabase } from "../../support/store-suite.ts";

const NOW = Date.now();
const RETENTION_MS = 3_600_000;
/** Attempts of a full schedule. */
const ATTEMPTS = 5;
const FAILURE: Omit<Attempt, "startedAtMs"> = {
  ...{ number: 1, durationMs: 7, httpStatus: 500, error: "status", answer: "no" },
};

describe("the log of webhook deliveries", () => {
  const database = useStoreDatabase("delivery-log", migrate);
  let log: Deliveries;
  before(() => {
    log = createDeliveries(database.parts().db, RETENTION_MS);
  });

  function queue(redactDelivered = false): DeliveryQueue {
    const options = { retentionMs: RETENTION_MS, owner: "one", redactDelivered };
    return createDeliveryQueue(database.parts().db, options);
  }

  function newDelivery(about: Partial<NewDelivery> = {}): NewDelivery {
    const createdAtMs = about.createdAtMs ?? NOW;
    return {
      id: idAt("webhookDelivery", createdAtMs),
      tenantId: newId("tenant"),
      endpointId: newId("webhookEndpoint"),
      eventId: newId("event"),
      eventType: "message.sent",
      body: '{"a":1}',
      attemptsLeft: ATTEMPTS,
      createdAtMs,
      activatedAtMs: createdAtMs,
      lease: undefined,
      dueAtMs: createdAtMs,
      ...about,
    };
  }

  /** A delivery of this status, whose only attempt failed or succeeded at `atMs`. */
  function withResult(status: DeliveryStatus, atMs: number, about: Partial<NewDelivery> = {}) {
    const delivery = newDelivery(about);
    const next =
      status === "pending"
        ? { status, attemptsLeft: ATTEMPTS - 1, nextAttemptAtMs: atMs + 60_000 }
        : { status };
    const claimed: Claimed = {
      ...{ ...delivery, redacts: false, attemptsMade: 0, lastAnswerMs: 0 },
      ...{ failsAs: "failed", leaseId: "", leaseUntilMs: 0 },
    };
    const result = { claimed, attempt: { ...FAILURE, startedAtMs: atMs - 7 }, next, atMs };
    return { ...delivery, result };
  }

  async function store<D extends NewDelivery>(delivery: D, into = queue()): Promise<D> {
    expect(await into.insert([delivery])).to.deep.equal(["stored"]);
    return delivery;
  }
  const ownerOf = ({ tenantId, endpointId }: NewDelivery) => ({ tenantId, endpointId });
  const keyOf = (delivery: NewDelivery) => ({ ...ownerOf(delivery), deliveryId: delivery.id });
  const get = ({ tenantId, endpointId, id }: NewDelivery, withBody?: boolean) =>
    log.get(tenantId, endpointId, id, withBody);
  const idsOf = (found: readonly { readonly id: string }[]) => found.map(({ id }) => id);
  const within = <T>(work: (session: ClientSession) => Promise<T>) =>
    runTransaction(database.parts().client, work);
  const resend = (delivery: NewDelivery, nowMs = NOW) =>
    within((session) => log.resend(keyOf(delivery), nowMs, session));
  /** Claims the due deliveries of the endpoint. */
  const claimDue = ({ endpointId }: NewDelivery, nowMs = NOW) =>
    queue().claim(
      [{ endpointId, max: 10 }],
      { id: newId("request"), untilMs: nowMs + 60_000 },
      ...[nowMs, nowMs],
    );
  const removalMs = ({ id }: NewDelivery) => database.removalMs("deliveries", id);

  async function list(of: NewDelivery, more: Partial<DeliveryFilter> = {}) {
    const page = await log.list({
      ...{ ...ownerOf(of), mode: undefined, statuses: [], eventType: "" },
      ...{ createdAfterMs: 0, createdBeforeMs: 0, limit: 100, beforeId: "", ...more },
    });
    return { ids: idsOf(page.deliveries), ...page };
  }

  it("shows a delivery with its attempts, and its body only on demand", async () => {
    const pending = await store(newDelivery());
    const expected = {
      ...{ id: pending.id, ...ownerOf(pending), eventId: pending.eventId },
      ...{ eventType: "message.sent", status: "pending", nextAttemptAtMs: NOW, attempts: [] },
      ...{ createdAtMs: NOW, completedAtMs: 0 },
    };
    expect(await get(pending)).to.deep.equal(expected);
    expect((await list(pending)).deliveries).to.deep.equal([expected]);
    expect(await get(pending, true)).to.deep.equal({ ...expected, body: '{"a":1}' });

    const failed = await store(withResult("failed", NOW + 100));
    expect(await get(failed)).to.deep.include({
      ...{ status: "failed", nextAttemptAtMs: 0, completedAtMs: NOW + 100 },
      attempts: [{ ...FAILURE, startedAtMs: NOW + 93 }],
    });
  });

  it("shows no body that is no longer kept, and the due time of a leased delivery", async () => {
    const redacted = await store(withResult("succeeded", NOW), queue(true));
    expect(await get(redacted, true)).to.not.have.property("body");
    const leased = await store(newDelivery({ dueAtMs: NOW - 1000 }));
    await claimDue(leased);
    expect(await get(leased)).to.include({ status: "pending", nextAttemptAtMs: NOW - 1000 });
  });

  it("has nothing for another tenant or endpoint", async () => {
    const delivery = await store(newDelivery({ messageId: newId("message") }));
    for (const wrong of [
      { ...delivery, tenantId: newId("tenant") },
      { ...delivery, endpointId: newId("webhookEndpoint") },
    ]) {
      expect((await list(wrong)).deliveries).to.deep.equal([]);
      expect(await get(wrong)).to.equal(undefined);
      expect(await resend(wrong)).to.equal(undefined);
    }
    expect(await get(delivery)).to.include({ nextAttemptAtMs: NOW });
  });

  it("lists pages, the newest first, and whether there are more", async () => {
    const owner = ownerOf(newDelivery());
    const stored = [];
    for (const age of [2, 0, 3, 1, 4]) {
      stored.push(await store(newDelivery({ ...owner, createdAtMs: NOW - age })));
    }
    const [first] = stored as [NewDelivery, ...NewDelivery[]];
    const newestFirst = idsOf(stored).toSorted().reverse();
    expect(await list(first, { limit: 5 })).to.include({ hasMore: false });
    const pages: string[] = [];
    for (const hasMore of [true, true, false]) {
      const page = await list(first, { limit: 2, beforeId: pages.at(-1) ?? "" });
      expect(page.hasMore).to.equal(hasMore);
      pages.push(...page.ids);
    }
    expect(pages).to.deep.equal(newestFirst);
  });

  it("examines few others for the pending and the failed ones among many", async () => {
    const first = await store(withResult("succeeded", NOW));
    const owner = ownerOf(first);
    const many = Array.from({ length: 2000 }, () => withResult("succeeded", NOW, owner));
    await queue().insert(many);
    const pending = await store(newDelivery(owner));
    const failed = await store(withResult("failed", NOW, owner));
    const { db } = database.parts();
    for (const [statuses, wanted] of [
      [["pending"], [pending]],
      [["failed"], [failed]],
    ] as const) {
      await db.command({ profile: 2 });
      const { ids } = await list(first, { statuses });
      await db.command({ profile: 0 });
      const [read] = await db.collection("system.profile").find().sort({ ts: -1 }).toArray();
      expect(ids).to.have.members(idsOf(wanted));
      expect(read?.docsExamined, statuses.join()).to.be.below(20);
      await db.collection("system.profile").drop();
    }
  });

  it("filters by status, event type and time of creation, each alone and together", async () => {
    const owner = ownerOf(newDelivery());
    const at = (createdAtMs: number, eventType = "message.sent") => ({
      ...{ ...owner, createdAtMs, eventType },
    });
    const old = await store(newDelivery(at(NOW - 2)));
    const failed = await store(withResult("failed", NOW, at(NOW - 1, "message.failed")));
    const done = await store(withResult("succeeded", NOW, at(NOW)));
    const ids = async (more: Partial<DeliveryFilter>) => (await list(old, more)).ids;
    expect(await ids({ statuses: ["pending"] })).to.deep.equal([old.id]);
    expect(await ids({ statuses: ["failed", "succeeded"] })).to.deep.equal([done.id, failed.id]);
    expect(await ids({ eventType: "message.failed" })).to.deep.equal([failed.id]);
    expect(await ids({ createdAfterMs: NOW - 1 })).to.deep.equal([done.id, failed.id]);
    expect(await ids({ createdBeforeMs: NOW - 1 })).to.deep.equal([old.id]);
    expect(await ids({ createdAfterMs: NOW - 1, createdBeforeMs: NOW })).to.deep.equal([failed.id]);
    // The narrower of two upper bounds counts.
    expect(await ids({ createdBeforeMs: NOW, beforeId: failed.id })).to.deep.equal([old.id]);
    expect(await ids({ createdBeforeMs: NOW - 1, beforeId: done.id })).to.deep.equal([old.id]);
    const none = { statuses: ["failed"], eventType: "message.sent" } as const;
    expect(await ids(none)).to.deep.equal([]);
  });

  it("lists the deliveries of a tenant's message over all endpoints, oldest first, up to a limit", async () => {
    const messageId = newId("message");
    const tenantId = newId("tenant");
    const stored = [];
    for (const age of [1, 3, 2]) {
      stored.push(await store(newDelivery({ tenantId, messageId, createdAtMs: NOW - age })));
    }
    await store(newDelivery({ tenantId, messageId: newId("message") }));
    await store(newDelivery({ messageId, createdAtMs: NOW - 5 }));
    const oldestFirst = idsOf(stored).toSorted();
    const found = await log.ofMessage(tenantId, messageId, 10);
    expect(idsOf(found)).to.deep.equal(oldestFirst);
    expect(found[0]).to.not.have.property("body");
    const two = await log.ofMessage(tenantId, messageId, 2);
    expect(idsOf(two)).to.deep.equal(oldestFirst.slice(0, 2));
    expect(await log.ofMessage(newId("tenant"), messageId, 10)).to.deep.equal([]);
  });

  it("stores a delivery that is due at once, in the transaction of its request", async () => {
    const aborted = newDelivery();
    const refused = within(async (session) => {
      await log.insertDue(aborted, session);
      throw new Error("refused");
    });
    expect(await codeOf(refused)).to.equal("internal_error");
    expect(await get(aborted)).to.equal(undefined);

    const delivery = newDelivery({ dueAtMs: NOW - 5, activatedAtMs: NOW - 6 });
    const made = await within((session) => log.insertDue(delivery, session));
    expect(await get(delivery)).to.deep.equal(made);
    expect(made).to.include({ status: "pending", nextAttemptAtMs: NOW - 5 });
    expect(await removalMs(delivery)).to.equal(NOW - 5 + RETENTION_MS);
    const [claimed] = await claimDue(delivery);
    expect(claimed).to.include({
      ...{ id: delivery.id, body: '{"a":1}', attemptsLeft: ATTEMPTS, attemptsMade: 0 },
      ...{ failsAs: "failed", activatedAtMs: NOW - 6 },
    });
  });

  it("resends a pending delivery at once, with the rest of its schedule", async () => {
    const delivery = await store(withResult("pending", NOW));
    expect(await claimDue(delivery)).to.deep.equal([]);
    const resent = await resend(delivery);
    expect(resent).to.include({ status: "pending", nextAttemptAtMs: NOW });
    expect(await get(delivery)).to.deep.equal(resent);
    const [claimed] = await claimDue(delivery);
    expect(claimed).to.include({ attemptsLeft: ATTEMPTS - 1, attemptsMade: 1, failsAs: "failed" });
  });

  for (const [status, failsAs] of [
    ["succeeded", "succeeded"],
    ["failed", "failed"],
    ["dropped", "failed"],
  ] as const) {
    it(`resends a ${status} delivery with one attempt, which fails as ${failsAs}`, async () => {
      const delivery = await store(withResult(status, NOW - 100, { activatedAtMs: NOW - 200 }));
      const resent = await resend(delivery);
      expect(resent).to.include({ status: "pending", nextAttemptAtMs: NOW, completedAtMs: 0 });
      expect(resent?.valueOf()).to.have.property("attempts").with.length(1);
      expect(await get(delivery)).to.deep.equal(resent);
      const [claimed] = await claimDue(delivery);
      expect(claimed).to.include({
        ...{ body: '{"a":1}', attemptsLeft: 1, attemptsMade: 1, failsAs, activatedAtMs: NOW },
      });
    });
  }

  it("resends neither without a body nor during an attempt, and changes nothing then", async () => {
    const redacted = await store(withResult("succeeded", NOW), queue(true));
    const leased = await store(newDelivery());
    await claimDue(leased);
    for (const [delivery, answer] of [
      [redacted, "redacted"],
      [leased, "attempting"],
    ] as const) {
      const before = await get(delivery);
      expect(await resend(delivery, NOW + 10)).to.equal(answer);
      expect(await get(delivery)).to.deep.equal(before);
    }
    expect(await resend(newDelivery())).to.equal(undefined);
  });

  it("resends in the transaction of the request, and once when two requests do so", async () => {
    const delivery = await store(withResult("failed", NOW - 100));
    const before = await get(delivery);
    const refused = within(async (session) => {
      await log.resend(keyOf(delivery), NOW, session);
      throw new Error("refused");
    });
    expect(await codeOf(refused)).to.equal("internal_error");
    expect(await get(delivery)).to.deep.equal(before);
    const both = await Promise.all([resend(delivery), resend(delivery)]);
    expect(both).to.deep.equal([await get(delivery), await get(delivery)]);
    const claimed = await claimDue(delivery);
    expect(claimed.map(({ attemptsLeft }) => attemptsLeft)).to.deep.equal([1]);
  });

  it("keeps a delivery for the retention after it became due again, and never shorter", async () => {
    const laterMs = Date.now() + 600_000;
    for (const renew of [
      (delivery: NewDelivery, atMs: number) => resend(delivery, atMs),
      ({ endpointId }: NewDelivery, atMs: number) => log.recover(endpointId, 1, ATTEMPTS, atMs),
    ]) {
      const longer = await store(withResult("failed", NOW - 200, { activatedAtMs: NOW - 300 }));
      await renew(longer, laterMs);
      expect(await removalMs(longer)).to.equal(laterMs + RETENTION_MS);
      const same = await store(withResult("failed", NOW - 200, { activatedAtMs: NOW - 300 }));
      const before = await removalMs(same);
      await renew(same, NOW - 100);
      expect(await get(same)).to.include({ status: "pending" });
      expect(await removalMs(same)).to.equal(before);
    }
  });

  it("recovers what failed since an instant of one endpoint, with a full schedule", async () => {
    const owner = { ...ownerOf(newDelivery()), activatedAtMs: NOW - 500 };
    const before = await store(withResult("failed", NOW - 101, owner));
    const since = [await store(withResult("failed", NOW - 100, owner))];
    since.push(await store(withResult("failed", NOW - 1, owner)));
    const others = [
      await store(withResult("succeeded", NOW - 50, owner)),
      await store(withResult("dropped", NOW - 50, owner)),
      await store(withResult("pending", NOW - 50, owner)),
      await store(withResult("failed", NOW - 50, { activatedAtMs: NOW - 500 })),
    ];
    const kept = await Promise.all([before, ...others].map((one) => get(one)));
    const recover = () => log.recover(owner.endpointId, NOW - 100, ATTEMPTS, NOW);
    expect(await recover()).to.equal(2);
    expect(await Promise.all([before, ...others].map((one) => get(one)))).to.deep.equal(kept);
    for (const one of since) {
      const shown = { status: "pending", nextAttemptAtMs: NOW, completedAtMs: 0 };
      expect(await get(one)).to.include(shown);
    }
    expect(await recover(), "a repeat").to.equal(0);
    const claimed = await claimDue(before);
    expect(idsOf(claimed)).to.have.members(idsOf(since));
    for (const one of claimed) {
      expect(one).to.include({ attemptsLeft: ATTEMPTS, failsAs: "failed", activatedAtMs: NOW });
    }
    // They fail again while the call that recovered them still looks for more.
    const results = claimed.map((one) => ({
      ...({ claimed: one, attempt: undefined, next: { status: "failed" }, atMs: NOW + 1 } as const),
    }));
    await queue().writeResults(results);
    expect(await recover(), "failed again").to.equal(0);
    expect(await log.recover(owner.endpointId, NOW, ATTEMPTS, NOW + 2)).to.equal(2);
  });

  it("recovers a delivery by one of two calls at once", async () => {
    const delivery = await store(withResult("failed", NOW, { activatedAtMs: NOW - 500 }));
    const two = [1, 2].map(() => log.recover(delivery.endpointId, NOW, ATTEMPTS, NOW + 1));
    expect((await Promise.all(two)).toSorted(), "one of two calls at once").to.deep.equal([0, 1]);
  });

  it("recovers more than fit into one batch", async () => {
    const owner = ownerOf(newDelivery());
    const about = { ...owner, activatedAtMs: NOW - 500 };
    const many = Array.from({ length: 1001 }, () => withResult("failed", NOW - 1, about));
    expect(new Set(await queue().insert(many))).to.deep.equal(new Set(["stored"]));
    expect(await log.recover(owner.endpointId, 1, ATTEMPTS, NOW)).to.equal(1001);
    const { db } = database.parts();
    const pending = { endpoint_id: owner.endpointId, status: "pending" };
    expect(await db.collection("deliveries").countDocuments(pending)).to.equal(1001);
  });
});
