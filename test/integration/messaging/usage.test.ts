/** Counts of messages on a real database: each appended change is counted once by several processes. */
import { expect } from "chai";
import type { UsageChange } from "../../../services/messaging/domain/usage.ts";
import { migrate } from "../../../services/messaging/migrate.ts";
import { appendUsage, createUsageStore } from "../../../services/messaging/store/usage.ts";
import { AppError } from "../../../services/shared/core/errors.ts";
import { type Mongo, runTransaction } from "../../../services/shared/io/mongo.ts";
import { openTestDatabase, type TestDatabase } from "../../support/test-database.ts";

const AT = Date.UTC(2026, 10, 2, 9, 30);
const QUERY = {
  ...({ tenantId: "ten_1", mode: "live", timeZone: "UTC" } as const),
  ...{ fromMs: AT, toMs: AT + 900_000, nowMs: AT + 60_000 },
};

describe("counts of messages in MongoDB", function () {
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

  it("messages that moved on leave no group, and the age is that of what waits", async () => {
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
