/** Conformance suite of the port `UsageStore`, on MongoDB. */
import { expect } from "chai";
import type { UsageQuery } from "../../../services/messaging/app/ports.ts";
import type { UsageChange } from "../../../services/messaging/domain/usage.ts";
import { migrate } from "../../../services/messaging/migrate.ts";
import { appendUsage, createUsageStore } from "../../../services/messaging/store/usage.ts";
import { AppError } from "../../../services/shared/core/errors.ts";
import { type Mongo, runTransaction } from "../../../services/shared/io/mongo.ts";
import { openTestDatabase, type TestDatabase } from "../../support/test-database.ts";

const AT = Date.UTC(2026, 10, 2, 9, 30);
/** A stored change, without its time. */
const STORED = {
  ...{ tenantId: "ten_1", mode: "live", country: "NG", from: "Acme", keyId: "", campaignId: "" },
  ...{ status: "queued", messages: 1, segments: 1, amount: 0n },
};
const QUERY = {
  ...({ tenantId: "ten_1", mode: "live", timeZone: "UTC" } as const),
  ...{ fromMs: AT, toMs: AT + 900_000, nowMs: AT + 60_000 },
};

describe("the store of counts", function () {
  this.timeout(60_000);
  let database: TestDatabase;
  let mongo: Mongo;

  before(async () => {
    database = await openTestDatabase("usage", migrate);
    mongo = database.mongo;
  });
  beforeEach(async () => {
    await mongo.db.collection("usage_changes").deleteMany({});
    await mongo.db.collection("usage").deleteMany({});
  });
  after(() => database?.close());

  const change = (facts: Partial<UsageChange> = {}): UsageChange => ({
    key: {
      ...{ tenantId: "ten_1", mode: "live", atMs: AT, country: "NG" },
      ...{ from: "Acme", keyId: "key_1", campaignId: "" },
    },
    ...{ status: "queued", messages: 1, segments: 2, amount: 0n },
    ...facts,
  });
  const append = (changes: readonly UsageChange[], nowMs = AT) =>
    runTransaction(mongo.client, (session) => appendUsage(mongo.db, changes, nowMs, session));
  const store = () => createUsageStore(mongo.client, mongo.db);
  const foldOrLose = () =>
    store()
      .fold()
      .catch((error: unknown) => {
        if (!(error instanceof AppError) || error.code !== "conflict") throw error;
        return true;
      });

  it("several processes that fold at once count each change once", async () => {
    for (let count = 0; count < 40; count += 1) {
      await append([change(), change({ status: "sent", amount: (9n * 10n ** 15n) / 40n })]);
    }
    for (;;) {
      const more = await Promise.all([1, 2, 3, 4].map(foldOrLose));
      if (more.every((one) => !one)) break;
    }
    const { groups } = await store().query({ ...QUERY, groupBy: ["status"] });
    expect(groups).to.deep.equal([
      { values: { status: "queued" }, messages: 40, segments: 80, amount: 0n },
      { values: { status: "sent" }, messages: 40, segments: 80, amount: 9n * 10n ** 15n },
    ]);
  });

  it("a transaction that fails adds nothing", async () => {
    const failing = runTransaction(mongo.client, async (session) => {
      await appendUsage(mongo.db, [change()], AT, session);
      throw new AppError("conflict", "no");
    });
    expect(await failing.catch(() => "failed")).to.equal("failed");
    expect(await store().fold()).to.equal(false);
    expect((await store().query({ ...QUERY, groupBy: [] })).groups).to.be.empty;
  });

  it("messages that moved on leave no group, and the age is that of the waiting change", async () => {
    await append([change()], AT + 1000);
    const { asOfMs } = await store().query({ ...QUERY, groupBy: [] });
    expect(asOfMs).to.equal(AT + 1000);
    await append([change({ messages: -1, segments: -2 }), change({ status: "failed" })]);
    await store().fold();
    const result = await store().query({ ...QUERY, groupBy: ["status", "key", "day"] });
    expect(result.groups).to.deep.equal([
      {
        values: { status: "failed", key: "key_1", day: "2026-11-02" },
        ...{ messages: 1, segments: 2, amount: 0n },
      },
    ]);
    expect(result.asOfMs).to.equal(QUERY.nowMs - 10_000);
  });

  it("one fold counts some of very many changes and says that more wait", async () => {
    const some = Array.from({ length: 501 }, () => ({
      ...{ created_at: new Date(AT) },
      changes: [{ ...STORED, at: new Date(AT) }],
    }));
    await mongo.db.collection("usage_changes").insertMany(some);
    const counted = async () => {
      const { groups } = await store().query({ ...QUERY, groupBy: [] });
      return groups[0]?.messages;
    };
    expect(await store().fold()).to.equal(true);
    expect(await counted()).to.equal(500);
    expect(await store().fold()).to.equal(false);
    expect(await counted()).to.equal(501);
  });

  it("counts belong to a tenant, a mode and the quarter hour in which the message was made", async () => {
    const of = (key: Partial<UsageChange["key"]>) => change({ key: { ...change().key, ...key } });
    await append([
      ...[of({}), of({ tenantId: "ten_2" }), of({ mode: "test" })],
      ...[of({ atMs: AT - 900_000 }), of({ atMs: AT + 900_000 })],
    ]);
    await store().fold();
    for (const [more, messages] of [
      [{}, 1],
      [{ tenantId: "ten_3" }, undefined],
      [{ mode: "test" }, 1],
      [{ fromMs: AT - 900_000 }, 2],
      [{ toMs: AT + 1_800_000 }, 2],
    ] as const) {
      const { groups } = await store().query({ ...QUERY, ...more, groupBy: [] });
      expect(groups[0]?.messages, JSON.stringify(more)).to.equal(messages);
    }
  });

  it("groups are made of every dimension that is asked for, in order, days and hours by the time zone", async () => {
    const of = (key: Partial<UsageChange["key"]>) => change({ key: { ...change().key, ...key } });
    const [dayMs, hourMs] = [86_400_000, 3_600_000];
    const midnight = Date.UTC(2026, 10, 2);
    await append([
      of({ atMs: midnight + 18 * hourMs }),
      of({ atMs: midnight + 18 * hourMs + 900_000, country: "GH", from: "Zeta", keyId: "" }),
      of({ atMs: midnight + 10 * hourMs, campaignId: "cmp_1" }),
    ]);
    await store().fold();
    const range = { fromMs: midnight, toMs: midnight + dayMs };
    const valuesOf = async (groupBy: UsageQuery["groupBy"], timeZone = "Asia/Kathmandu") => {
      const { groups } = await store().query({ ...QUERY, ...range, groupBy, timeZone });
      return groups.map(({ values, messages }) => [Object.values(values).join(" "), messages]);
    };
    // Kathmandu is 5 h 45 min ahead of UTC.
    expect(await valuesOf(["day"])).to.deep.equal([
      ["2026-11-02", 2],
      ["2026-11-03", 1],
    ]);
    expect(await valuesOf(["day"], "UTC")).to.deep.equal([["2026-11-02", 3]]);
    expect(await valuesOf(["hour"])).to.deep.equal([
      ["2026-11-02T09:15:00.000Z", 1],
      ["2026-11-02T17:15:00.000Z", 1],
      ["2026-11-02T18:15:00.000Z", 1],
    ]);
    expect(await valuesOf(["country", "sender_id", "key", "campaign"])).to.deep.equal([
      ["GH Zeta  ", 1],
      ["NG Acme key_1 ", 1],
      ["NG Acme key_1 cmp_1", 1],
    ]);
  });

  it("more groups than an answer may have are refused, with the field that made them", async () => {
    const many = Array.from({ length: 10_001 }, (_, at) =>
      change({ key: { ...change().key, campaignId: `cmp_${at}` } }),
    );
    await append(many.slice(1));
    await store().fold();
    const query = { ...QUERY, groupBy: ["campaign"] as const };
    expect((await store().query(query)).groups).to.have.length(10_000);
    await append(many.slice(0, 1));
    await store().fold();
    const error = await store()
      .query(query)
      .catch((thrown: AppError) => thrown);
    expect((error as AppError).fields?.[0]).to.include({ field: "group_by", code: "too_many" });
  });

  it("an unknown time zone is refused", async () => {
    await append([change()]);
    await store().fold();
    const query = { ...QUERY, groupBy: ["day"] as const, timeZone: "Mars/Olympus" };
    const error = await store()
      .query(query)
      .catch((thrown: AppError) => thrown);
    expect((error as AppError).fields?.[0]).to.include({ field: "time_zone" });
  });
});
