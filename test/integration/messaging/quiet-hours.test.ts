import { expect } from "chai";
import { MessageStatus, OutcomeKind } from "../../../proto/gen/sms/v1/messaging_pb.js";
import { TrafficClass } from "../../../proto/gen/sms/v1/sender_id_pb.js";
import { DEFAULT_QUIET_HOURS } from "../../../services/shared/core/quiet-hours-text.ts";
import { toAppError } from "../../../services/shared/rpc/error-status.ts";
import {
  breachesOf,
  bulkSend,
  codeOf,
  makeTenant,
  report,
  show,
  singleSend,
  type TestTenant,
} from "../../support/messaging-harness.ts";
import { openMessagingSuite } from "../../support/messaging-suite.ts";
import { eventually } from "../../support/poll.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** 20:00 and 08:00 in Lagos, as times of the UTC day. */
const EVENING_MS = 19 * HOUR_MS;
const MORNING_MS = 7 * HOUR_MS;
const COUNT = 2000;
const PRICE = 40_000n;
const PROMOTIONAL = { trafficClass: TrafficClass.PROMOTIONAL } as const;

describe("quiet hours", () => {
  const { harness, tenant } = openMessagingSuite({
    settings: { QUIET_HOURS: DEFAULT_QUIET_HOURS, SCHEDULER_INTERVAL_MS: "100" },
    replicas: 2,
  });

  /** Moves the clock on to a time of the UTC day. */
  function goTo(timeOfDayMs: number): void {
    const nowMs = harness.clock.now();
    const beginMs = Math.floor(nowMs / DAY_MS) * DAY_MS;
    const atMs = beginMs + timeOfDayMs;
    harness.clock.advance((atMs > nowMs ? atMs : atMs + DAY_MS) - nowMs);
  }

  const claimAll = async (max = 1000, at = 0) =>
    (await harness.replicas[at]?.claimMessages({ connectorId: "alpha", carrierId: "c-1", max }))
      ?.messages ?? [];
  const bulk = async (count: number, of: TestTenant = tenant, opening = "+2348030") => {
    const sends = Array.from({ length: Math.ceil(count / 1000) }, (_, at) =>
      harness.messaging.sendMessages({
        ...bulkSend(of, `${opening}${at}`, Math.min(1000, count - at * 1000)),
        ...PROMOTIONAL,
      }),
    );
    return (await Promise.all(sends)).flatMap(({ entries }) => entries.map(({ id }) => id));
  };
  const counts = () =>
    harness.db
      .collection("messages")
      .aggregate([
        { $match: { tenant_id: tenant.id } },
        {
          $group: {
            _id: { $concat: ["$status", "|", { $ifNull: ["$phase", ""] }] },
            n: { $sum: 1 },
          },
        },
      ])
      .toArray()
      .then((rows) => Object.fromEntries(rows.map(({ _id, n }) => [_id, n])));
  const heldOf = async ({ id: tenantId }: TestTenant) =>
    (await harness.wallets.getWallet({ tenantId })).wallet?.held;
  const accept = async (claimed: Awaited<ReturnType<typeof claimAll>>) => {
    const kind = OutcomeKind.ACCEPTED;
    const outcomes = claimed.map(({ messageId, claimId }) => ({ messageId, claimId, kind }));
    await harness.messaging.reportOutcomes({ outcomes });
  };
  /** Sends everything that is queued. */
  const empty = async () => {
    await eventually(async () => {
      await accept(await claimAll());
      return (await harness.db.collection("messages").countDocuments({ status: "queued" })) === 0;
    });
  };

  it(`${COUNT} promotional messages wait for the morning, and other messages pass them`, async function () {
    this.timeout(60_000);
    goTo(EVENING_MS - 10_000);
    const ids = await bulk(COUNT);
    const before = await claimAll(100);
    expect(before).to.have.length(100);
    const opensMs = Number(before[0]?.openFromMs);
    const closesMs = Number(before[0]?.openUntilMs);
    expect(closesMs % DAY_MS, "a second before they begin").to.equal(EVENING_MS - 1000);
    expect(opensMs % DAY_MS).to.equal(MORNING_MS);
    await accept(before);

    goTo(EVENING_MS);
    const other = await makeTenant(harness);
    await harness.messaging.sendMessages({ ...bulkSend(other, "+2348055", 5) });
    const { message } = await harness.messaging.sendMessages(singleSend(other));
    const claimed: string[] = [];
    await eventually(async () => {
      const some = await claimAll(10);
      claimed.push(...some.map(({ messageId }) => messageId));
      await accept(some);
      return claimed.length === 6;
    });
    expect(claimed[0], "single sends first").to.equal(message?.id);
    await eventually(async () => {
      expect(await claimAll(10)).to.deep.equal([]);
      return (await counts())["queued|quiet"] === COUNT - 100;
    });
    await eventually(
      async () => (await harness.messaging.getQueueStats({})).quiet === BigInt(COUNT - 100),
    );
    await eventually(async () => (await heldOf(tenant)) === BigInt(COUNT - 100) * PRICE);

    // Longer than the queue time.
    harness.clock.advance(11 * HOUR_MS);
    expect(await claimAll()).to.deep.equal([]);
    expect((await show(harness, tenant, ids.at(-1) ?? "")).status).to.equal(MessageStatus.QUEUED);
    expect((await counts())["queued|quiet"]).to.equal(COUNT - 100);

    goTo(MORNING_MS);
    const sent = new Set<string>();
    await eventually(
      async () => {
        const claimed = await claimAll(1000, sent.size % 2);
        for (const { messageId } of claimed) {
          expect(sent.has(messageId), "claimed once").to.equal(false);
          sent.add(messageId);
        }
        await accept(claimed);
        return sent.size === COUNT - 100;
      },
      { timeoutMs: 40_000 },
    );
    expect(await counts()).to.deep.equal({ "sent|": COUNT });
    await eventually(async () => (await heldOf(tenant)) === 0n, { timeoutMs: 20_000 });
    expect(await breachesOf(harness)).to.deep.equal([]);
  });

  it("a clock that is set back into the night stops the messages again, and none expires", async () => {
    goTo(EVENING_MS + 1000);
    const ids = await bulk(50);
    await eventually(async () => {
      expect(await claimAll()).to.deep.equal([]);
      return (await counts())["queued|quiet"] === 50;
    });
    goTo(MORNING_MS);
    await eventually(async () => (await counts())["queued|waiting"] === 50);
    const { queues } = await harness.messaging.getQueueStats({});
    const waitedMs = Number(
      queues.find(({ connectorId }) => connectorId === "alpha")?.oldestWaitingMs,
    );
    expect(waitedMs, "since the end of quiet hours").to.be.within(0, HOUR_MS);
    harness.clock.advance(-HOUR_MS);
    await eventually(async () => {
      expect(await claimAll()).to.deep.equal([]);
      return (await counts())["queued|quiet"] === 50;
    });
    harness.clock.advance(2 * HOUR_MS);
    const claimed: string[] = [];
    await eventually(async () => {
      const some = await claimAll();
      claimed.push(...some.map(({ messageId }) => messageId));
      await accept(some);
      return claimed.length === 50;
    });
    expect(claimed.sort()).to.deep.equal(ids.sort());
  });

  it("a message that its carrier returns in quiet hours waits for their end", async () => {
    goTo(EVENING_MS - 30_000);
    const [id = ""] = await bulk(1);
    const [claimed] = await eventually(async () => {
      const some = await claimAll();
      return some.length > 0 && some;
    });
    goTo(EVENING_MS);
    const retryAtMs = BigInt(harness.clock.now() + 1000);
    await report(
      harness,
      { messageId: id, claimId: claimed?.claimId ?? "" },
      OutcomeKind.NOT_SENT,
      {
        ...{ carrierCode: "quiet_hours", retryAtMs },
      },
    );
    harness.clock.advance(1000);
    await eventually(async () => {
      expect(await claimAll()).to.deep.equal([]);
      return (await counts())["queued|quiet"] === 1;
    });
    goTo(MORNING_MS);
    await empty();
    expect((await show(harness, tenant, id)).status).to.equal(MessageStatus.SENT);
  });

  it("a message in quiet hours can be cancelled, which releases its hold", async () => {
    goTo(EVENING_MS + HOUR_MS);
    const [messageId = ""] = await bulk(1);
    await eventually(async () => {
      await claimAll();
      return (await counts())["queued|quiet"] === 1;
    });
    const cancelled = await harness.messaging.cancelMessage({ tenantId: tenant.id, messageId });
    expect(cancelled.message?.status).to.equal(MessageStatus.CANCELLED);
    await eventually(async () => (await heldOf(tenant)) === 0n, { timeoutMs: 20_000 });
    goTo(MORNING_MS);
    expect(await claimAll()).to.deep.equal([]);
  });

  it("a message whose account is suspended over night fails in the morning, uncharged", async () => {
    const suspended = await makeTenant(harness);
    goTo(EVENING_MS + HOUR_MS);
    const [id = ""] = await bulk(1, suspended);
    await eventually(async () => {
      await claimAll();
      const stored = await harness.db.collection("messages").findOne({ _id: id as never });
      return stored?.phase === "quiet";
    });
    await harness.tenants.updateTenant({ tenantId: suspended.id, suspended: true });
    goTo(MORNING_MS);
    const failed = await eventually(async () => {
      const message = await show(harness, suspended, id);
      return message.status === MessageStatus.FAILED && message;
    });
    expect(failed.error?.code).to.equal("tenant_suspended");
    expect(failed.amount).to.equal(undefined);
  });

  it("under the policy reject nothing waits for the morning", async () => {
    const strict = await makeTenant(harness);
    goTo(EVENING_MS - 60_000);
    await harness.tenants.updateTenant({ tenantId: strict.id, rejectsInQuietHours: true });
    const [early = ""] = await eventually(async () => {
      const ids = await bulk(1, strict);
      const stored = await harness.db.collection("messages").findOne({ _id: ids[0] as never });
      return stored?.rejects_quiet === true && ids;
    });
    goTo(EVENING_MS);
    // At its turn.
    const failed = await eventually(async () => {
      await claimAll();
      const message = await show(harness, strict, early);
      return message.status === MessageStatus.FAILED && message;
    });
    expect(failed.error?.code).to.equal("quiet_hours");
    expect(failed.amount).to.equal(undefined);
    // At acceptance.
    const single = singleSend(strict, PROMOTIONAL);
    const refused = await harness.messaging.sendMessages(single).then(
      () => undefined,
      (error: unknown) => toAppError(error),
    );
    expect(refused?.code).to.equal("validation_error");
    expect(refused?.fields[0]).to.include({ field: "to", code: "quiet_hours" });
    const held = await harness.messaging.sendMessages(
      singleSend(strict, { ...PROMOTIONAL, rejectsInQuietHours: false }),
    );
    expect(held.accepted, "the request's policy goes before the tenant's").to.equal(1);
    const morning = BigInt(harness.clock.now() + 13 * HOUR_MS);
    const night = BigInt(harness.clock.now() + HOUR_MS);
    expect(await codeOf(harness.messaging.sendMessages({ ...single, sendAtMs: night }))).to.equal(
      "validation_error",
    );
    await harness.messaging.sendMessages({ ...single, sendAtMs: morning });
    // Other classes are free.
    await harness.messaging.sendMessages(singleSend(strict));
    await eventually(
      async () => {
        const { wallet } = await harness.wallets.getWallet({ tenantId: strict.id });
        // The one that waits, the scheduled one and the transactional one.
        return wallet?.held === 3n * PRICE;
      },
      { timeoutMs: 20_000 },
    );
    goTo(MORNING_MS);
    await empty();
  });

  it("a change of the rules reaches the messages that wait", async () => {
    goTo(EVENING_MS + HOUR_MS);
    await bulk(3);
    await eventually(async () => {
      await claimAll();
      return (await counts())["queued|quiet"] === 3;
    });
    const quietHours = {
      ...{ country: "NG", timeZone: "Africa/Lagos" },
      windows: [{ fromMinute: 1200, untilMinute: 600 }],
    };
    await harness.routing.setQuietHours({ quietHours });
    const endOf = async () =>
      (await harness.db.collection("messages").findOne({ phase: "quiet" }))?.quiet_until?.getTime();
    await eventually(async () => ((await endOf()) ?? 0) % DAY_MS === MORNING_MS + 2 * HOUR_MS);
    await harness.routing.removeQuietHours({ country: "NG" });
    await eventually(async () => (await counts())["queued|waiting"] === 3);
    expect((await harness.routing.listQuietHours({})).quietHours).to.deep.equal([]);
    expect(await codeOf(harness.routing.removeQuietHours({ country: "NG" }))).to.equal("not_found");
    await empty();
  });

  it("refuses windows that never end", async () => {
    const endless = { ...{ country: "NG", timeZone: "Africa/Lagos" } };
    for (const windows of [
      [{ fromMinute: 0, untilMinute: 1440 }],
      [{ fromMinute: 480, untilMinute: 480 }],
      [
        { fromMinute: 1200, untilMinute: 480 },
        { fromMinute: 480, untilMinute: 1200 },
      ],
    ]) {
      const set = harness.routing.setQuietHours({ quietHours: { ...endless, windows } });
      expect(await codeOf(set)).to.equal("validation_error");
    }
  });
});
