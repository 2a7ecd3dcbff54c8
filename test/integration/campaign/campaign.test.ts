import { expect } from "chai";
import { CampaignStatus } from "../../../proto/gen/sms/v1/campaign_pb.js";
import {
  type CampaignStack,
  nigerianNumbers,
  startCampaignStack,
} from "../../support/campaign-stack.ts";
import { eventually } from "../../support/poll.ts";

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
