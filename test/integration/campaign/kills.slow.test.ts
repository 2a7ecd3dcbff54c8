import { expect } from "chai";
import { CampaignStatus } from "../../../proto/gen/sms/v1/campaign_pb.js";
import {
  type CampaignStack,
  nigerianNumbers,
  startCampaignStack,
} from "../../support/campaign-stack.ts";

describe("a campaign whose processes are killed", function () {
  this.timeout(400_000);
  let world: CampaignStack;
  before(async () => {
    world = await startCampaignStack();
  });
  after(() => world?.stop());

  it("sends to each number once, and counts and charges what was sent", async () => {
    const numbers = nigerianNumbers(6000);
    const id = await world.draft(numbers);
    const before = await world.balance();
    await world.start(id);
    const names = ["campaign", "messaging", "campaign", "wallet", "campaign", "carrier"];
    for (let round = 0; round < 12; round += 1) {
      const name = names[round % names.length] as string;
      await world.stack.kill(name);
      await world.stack.restart(name);
    }
    await world.reaches(id, CampaignStatus.COMPLETED, 120_000);
    const { progress } = await world.settles(id, 120_000);
    const submits = await world.submits();
    const missing = numbers.filter((number) => submits[number.slice(1)] === undefined);
    const again = numbers.filter((number) => (submits[number.slice(1)]?.total ?? 0) > 1);
    expect({ missing: missing.length, again: again.length }).to.deep.equal({
      missing: 0,
      again: 0,
    });
    expect(Number(progress?.total)).to.equal(6000);
    expect(before - (await world.balance())).to.equal(progress?.chargedAmount);
  });
});
