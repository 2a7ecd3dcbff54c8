import { expect } from "chai";
import { CampaignStatus, RecipientStatus } from "../../../proto/gen/sms/v1/campaign_pb.js";
import {
  type CampaignStack,
  nigerianNumbers,
  startCampaignStack,
} from "../../support/campaign-stack.ts";
import { overlooked, smsctl } from "../../support/smsctl.ts";

const COUNT = Number(process.env.CAMPAIGN_RECIPIENTS ?? 8000);
const KILLS = 20;
/** Killed in turn. */
const SERVICES = ["campaign", "messaging", "wallet", "campaign", "carrier"];
/** Restarted once each, between the kills. */
const SERVERS = ["mongod", "nats-server", "redis"];

describe("a campaign whose processes are killed and whose servers restart", function () {
  this.timeout(600_000);
  let world: CampaignStack;
  before(async () => {
    // A killed carrier's unanswered submits are decided soon.
    world = await startCampaignStack({ SUBMISSION_UNKNOWN_WAIT_MS: "20000" });
  });
  after(() => world?.stop());

  it("submits each number once, charges what the wallet loses, and breaks no invariant", async () => {
    const numbers = nigerianNumbers(COUNT);
    const id = await world.draft(numbers);
    const before = await world.balance();
    await world.start(id);
    for (let round = 0; round < KILLS; round += 1) {
      const name = SERVICES[round % SERVICES.length] as string;
      await world.stack.kill(name);
      await world.stack.restart(name);
      const server = SERVERS[Math.floor(round / 6)];
      if (round % 6 === 5 && server !== undefined) await world.stack.restart(server);
    }
    await world.reaches(id, CampaignStatus.COMPLETED, 300_000);
    const { progress } = await world.settles(id, 120_000);
    expect(Number(progress?.total)).to.equal(COUNT);

    const submits = await world.submits();
    const counts = numbers.map((number) => submits[number.slice(1)]?.total ?? 0);
    expect(counts.filter((count) => count > 1).length, "submitted again").to.equal(0);
    const never = numbers.filter((_, at) => counts[at] === 0);
    // A carrier that dies with a submit on its way cannot know whether it arrived: that message fails uncharged.
    const inDoubt = await world.numbersOf(id, [RecipientStatus.FAILED]);
    expect(never.filter((number) => !inDoubt.has(number)).length, "never submitted").to.equal(0);

    expect(before - (await world.balance())).to.equal(progress?.chargedAmount);
    const { code, value, error } = await smsctl(world.stack, "check");
    expect(code, `${error}${JSON.stringify(value)}`).to.equal(0);
    const least = { campaigns: 1, campaign_rows: COUNT, campaign_messages: COUNT };
    expect(overlooked(value, least)).to.deep.equal([]);
  });
});
