import { expect } from "chai";
import { MongoClient } from "mongodb";
import { type Campaign, CampaignStatus } from "../../../proto/gen/sms/v1/campaign_pb.js";
import { toListQuery } from "../../../services/campaign/store/campaign-store.ts";
import { newId } from "../../../services/shared/core/ids.ts";
import { toAppError } from "../../../services/shared/rpc/error-status.ts";
import {
  type CampaignStack,
  nigerianNumbers,
  startCampaignStack,
} from "../../support/campaign-stack.ts";
import { callRest } from "../../support/customer.ts";
import { eventually } from "../../support/poll.ts";

/** A campaign that is completed meanwhile can be neither paused nor resumed. */
function ignoreEnded(error: unknown): void {
  if (toAppError(error).code !== "invalid_state_transition") throw error;
}

function leftQueue({ progress }: Campaign): number {
  return Number((progress?.total ?? 0n) - (progress?.waiting ?? 0n) - (progress?.queued ?? 0n));
}

describe("a campaign", function () {
  this.timeout(120_000);
  let world: CampaignStack;
  before(async () => {
    world = await startCampaignStack();
  });
  after(() => world?.stop());

  it("sends to each number once, charges what the wallet loses, and completes", async () => {
    const numbers = nigerianNumbers(1200);
    const id = await world.draft(numbers);
    const before = await world.balance();
    await world.start(id);
    await world.reaches(id, CampaignStatus.COMPLETED);
    const { progress } = await world.settles(id);
    expect(progress?.delivered).to.equal(1200n);
    expect(await countSubmits(numbers)).to.deep.equal({ once: 1200, never: 0, more: 0 });
    await eventually(async () => (await world.held()) === 0n, { what: "the end of all holds" });
    expect(before - (await world.balance())).to.equal(progress?.chargedAmount);
  });

  it("of a tenant is listed in a time that does not grow with the campaigns of others", async () => {
    const id = await world.draft(nigerianNumbers(1, 90_000));
    const client = await new MongoClient(world.stack.mongodb_uri).connect();
    const campaigns = client.db("sms_campaign").collection<{ _id: string }>("campaigns");
    const own = await campaigns.findOne({ _id: id });
    const others = Array.from({ length: 500 }, () => ({
      ...own,
      _id: newId("campaign"),
      tenant_id: newId("tenant"),
    }));
    await campaigns.insertMany(others);
    for (const mode of ["live", undefined] as const) {
      const tenantId = world.stack.tenant_id;
      const query = toListQuery({ tenantId, mode, statuses: [], beforeId: "", limit: 21 });
      const found = campaigns.find(query).sort({ _id: -1 }).limit(21);
      const { executionStats } = await found.explain("executionStats");
      expect(executionStats.nReturned).to.be.at.least(1);
      expect(executionStats.totalKeysExamined).to.be.below(100);
    }
    await campaigns.deleteMany({ _id: { $in: others.map(({ _id }) => _id) } });
    await client.close();
  });

  it("pauses at an empty wallet and continues when it is funded", async () => {
    const numbers = nigerianNumbers(1500, 10_000);
    const id = await world.draft(numbers);
    await world.start(id);
    const drained = await drain();
    const paused = await world.reaches(id, CampaignStatus.PAUSED);
    expect(paused.pauseReason).to.equal("insufficient_balance");
    await world.wallets.fundWallet({
      tenantId: world.stack.tenant_id,
      amount: drained,
      reference: "refill",
    });
    await world.campaigns.resumeCampaign(world.target(id));
    await world.reaches(id, CampaignStatus.COMPLETED);
    await world.settles(id);
    expect(await countSubmits(numbers)).to.deep.equal({ once: 1500, never: 0, more: 0 });
  });

  // 4.0000 for each message: 25 of them exactly; 123 of them, and 3.9999 that buy none.
  for (const { budget, charged, from } of [
    { budget: 1_000_000n, charged: 1_000_000n, from: 20_000 },
    { budget: 4_959_999n, charged: 4_920_000n, from: 22_000 },
  ]) {
    it(`never spends more than its budget of ${budget}, and spends what the budget covers`, async () => {
      const id = await world.draft(nigerianNumbers(700, from), { budgetAmount: budget });
      await world.start(id);
      const paused = await world.reaches(id, CampaignStatus.PAUSED);
      expect(paused.pauseReason).to.equal("budget_reached");
      // A campaign at the end of its budget stays there.
      await world.campaigns.resumeCampaign(world.target(id));
      await world.reaches(id, CampaignStatus.PAUSED);
      const { progress } = await world.settles(id);
      expect(progress?.chargedAmount).to.equal(charged);
      expect(progress?.heldAmount).to.equal(0n);
      expect(progress?.waiting).to.equal(700n - charged / 40_000n);
      await world.campaigns.cancelOpenCampaign(world.target(id));
    });
  }

  it("sends to each number once, paused and resumed forty times at random", async () => {
    const numbers = nigerianNumbers(3000, 30_000);
    const id = await world.draft(numbers);
    await world.start(id);
    for (let round = 0; round < 40; round += 1) {
      await sendsMore(id, Math.random() * 75);
      await world.campaigns.pauseCampaign(world.target(id)).catch(ignoreEnded);
      await world.campaigns.resumeCampaign(world.target(id)).catch(ignoreEnded);
    }
    await world.reaches(id, CampaignStatus.COMPLETED, 90_000);
    await world.settles(id);
    expect(await countSubmits(numbers)).to.deep.equal({ once: 3000, never: 0, more: 0 });
  });

  it("cancels queued messages and returns all holds", async () => {
    const numbers = nigerianNumbers(5000, 40_000);
    const id = await world.draft(numbers);
    const before = await world.balance();
    await world.start(id);
    await eventually(async () => (await world.get(id)).progress?.delivered !== 0n, {
      what: "the first deliveries",
    });
    const cancelled = await world.campaigns.cancelOpenCampaign(world.target(id));
    expect(cancelled.campaign?.status).to.equal(CampaignStatus.CANCELLED);
    const { progress } = await world.settles(id);
    await eventually(async () => (await world.get(id)).progress?.waiting === 0n, {
      what: "the end of the waiting rows",
    });
    await eventually(async () => (await world.held()) === 0n, { what: "the end of all holds" });
    expect(before - (await world.balance())).to.equal(progress?.chargedAmount);
  });

  it("is not changed by a customer who uses the keys of its chunks as idempotency keys", async () => {
    const numbers = nigerianNumbers(600, 50_000);
    const [mine = ""] = nigerianNumbers(1, 59_000);
    const id = await world.draft(numbers);
    const send = (path: string, key: string, to: object) => {
      const body = { from: world.stack.sender_id, body: "Mine", ...to };
      return callRest(world.stack, "POST", `/v1/sms/messages${path}`, { body, key });
    };
    const sendAll = async () => {
      const answers = [];
      for (const key of [`${id}-0`, `${id}-1`]) {
        answers.push(await send("", key, { to: mine }));
        answers.push(await send("/bulk", key, { to: [mine] }));
      }
      return answers;
    };
    const before = await sendAll();
    expect(before.map(({ status }) => status)).to.deep.equal([202, 202, 202, 202]);
    await world.start(id);
    await world.reaches(id, CampaignStatus.COMPLETED);
    const again = await sendAll();
    expect(again.map(({ body }) => body)).to.deep.equal(before.map(({ body }) => body));
    await world.settles(id);
    expect(await countSubmits(numbers)).to.deep.equal({ once: 600, never: 0, more: 0 });
  });

  it("is checked without a breach", async () => {
    const breaches: unknown[] = [];
    for await (const part of world.campaigns.checkCampaigns({})) breaches.push(...part.breaches);
    expect(breaches).to.deep.equal([]);
  });

  /** Waits until so many more messages have left the queue, or none is left. */
  async function sendsMore(id: string, count: number): Promise<void> {
    const start = leftQueue(await world.get(id));
    const isSent = async () => {
      const now = await world.get(id);
      return now.status === CampaignStatus.COMPLETED || leftQueue(now) >= start + count;
    };
    await eventually(isSent, { timeoutMs: 30_000, what: `the sending of ${count} messages` });
  }

  /** Takes all that is available; a chunk may be held in between, so it tries again. */
  async function drain(): Promise<bigint> {
    const { tenant_id: tenantId } = world.stack;
    let amount = 0n;
    await eventually(
      async () => {
        const { wallet } = await world.wallets.getWallet({ tenantId });
        amount = wallet?.available ?? 0n;
        const reference = `drain-${amount}`;
        await world.wallets.adjustWallet({ tenantId, amount: -amount, reference, reason: "test" });
        return true;
      },
      { what: "an empty wallet" },
    );
    return amount;
  }

  async function countSubmits(numbers: readonly string[]) {
    const submits = await world.submits();
    const counts = { once: 0, never: 0, more: 0 };
    for (const number of numbers) {
      const total = submits[number.slice(1)]?.total ?? submits[number]?.total ?? 0;
      counts[total === 0 ? "never" : total === 1 ? "once" : "more"] += 1;
    }
    return counts;
  }
});
