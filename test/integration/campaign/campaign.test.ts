import { expect } from "chai";
import { CampaignStatus } from "../../../proto/gen/sms/v1/campaign_pb.js";
import { toAppError } from "../../../services/shared/rpc/error-status.ts";
import {
  type CampaignStack,
  nigerianNumbers,
  startCampaignStack,
} from "../../support/campaign-stack.ts";
import { eventually } from "../../support/poll.ts";

/** A campaign that is completed meanwhile can be neither paused nor resumed. */
function ignoreEnded(error: unknown): void {
  if (toAppError(error).code !== "invalid_state_transition") throw error;
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

  it("stops at an empty wallet and goes on when it is funded", async () => {
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

  it("never spends more than its budget, and spends what the budget covers", async () => {
    const numbers = nigerianNumbers(700, 20_000);
    // 4.0000 for each message: 123 of them, and 3.9999 that buy none.
    const id = await world.draft(numbers, { budgetAmount: 4_959_999n });
    await world.start(id);
    const paused = await world.reaches(id, CampaignStatus.PAUSED);
    expect(paused.pauseReason).to.equal("budget_reached");
    const { progress } = await world.settles(id);
    expect(progress?.chargedAmount).to.equal(4_920_000n);
    expect(progress?.waiting).to.equal(577n);
    await world.campaigns.cancelOpenCampaign(world.target(id));
  });

  it("submits nothing a second after a pause, and sends to each number once after forty pauses", async () => {
    const numbers = nigerianNumbers(3000, 30_000);
    const id = await world.draft(numbers);
    await world.start(id);
    for (let round = 0; round < 40; round += 1) {
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

  it("is checked without a breach", async () => {
    const breaches: unknown[] = [];
    for await (const part of world.campaigns.checkCampaigns({})) breaches.push(...part.breaches);
    expect(breaches).to.deep.equal([]);
  });

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
