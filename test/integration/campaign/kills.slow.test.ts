/** `CAMPAIGN_RECIPIENTS=100000 mocha test/integration/campaign/kills.slow.test.ts` sends to more recipients. */
import { expect } from "chai";
import { CampaignStatus, RecipientStatus } from "../../../proto/gen/sms/v1/campaign_pb.js";
import {
  type CampaignStack,
  nigerianNumbers,
  startCampaignStack,
} from "../../support/campaign-stack.ts";
import { eventually } from "../../support/poll.ts";
import { overlooked, smsctl } from "../../support/smsctl.ts";

const COUNT = Number(process.env.CAMPAIGN_RECIPIENTS ?? 8000);
const KILLS = 20;
/** Killed in turn. */
const SERVICES = ["campaign", "messaging", "wallet", "campaign", "carrier"];
const CARRIER_KILLS = KILLS / SERVICES.length;
/** Submits that the seeded connector may have unanswered. */
const WINDOW = 100;
/** Restarted once each, between the kills. */
const SERVERS = ["mongod", "nats-server", "redis"];
/** Recipients of the campaign that is cancelled. */
const CANCELLED_COUNT = 4000;
/** The contract's minute, counted from the last kill: the processes are back then. */
const HOLDS_MAX_MS = 60_000;
/** A busy machine with two cores sends at least 100 messages a second, and a process starts within 15 s. */
const CAMPAIGN_MAX_MS = 300_000 + COUNT * 10;

describe("a campaign whose processes are killed and whose servers restart", function () {
  this.timeout(2 * CAMPAIGN_MAX_MS + 300_000);
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
      await leftQueue(id, (COUNT * round) / (KILLS + 1));
      const name = SERVICES[round % SERVICES.length] as string;
      await world.stack.kill(name);
      await world.stack.restart(name);
      const server = SERVERS[Math.floor(round / 6)];
      if (round % 6 === 5 && server !== undefined) await world.stack.restart(server);
    }
    await world.reaches(id, CampaignStatus.COMPLETED, CAMPAIGN_MAX_MS);
    const { progress } = await world.settles(id, 300_000);
    expect(Number(progress?.total)).to.equal(COUNT);

    const submits = await world.submits();
    const counts = numbers.map((number) => submits[number.slice(1)]?.total ?? 0);
    expect(counts.filter((count) => count > 1).length, "submitted again").to.equal(0);
    const never = numbers.filter((_, at) => counts[at] === 0);
    // A carrier that dies with a submit on its way cannot know whether it arrived: that message fails uncharged.
    const inDoubt = await world.numbersOf(id, [RecipientStatus.FAILED]);
    expect(never.filter((number) => !inDoubt.has(number)).length, "never submitted").to.equal(0);
    expect(inDoubt.size, "in doubt").to.be.at.most(CARRIER_KILLS * WINDOW);

    expect(before - (await world.balance())).to.equal(progress?.chargedAmount);
    const { code, value, error } = await smsctl(world.stack, "check");
    expect(code, `${error}${JSON.stringify(value)}`).to.equal(0);
    const least = { campaigns: 1, campaign_rows: COUNT, campaign_messages: COUNT };
    expect(overlooked(value, least)).to.deep.equal([]);
  });

  it("returns all holds within a minute of a cancel in which they are killed", async () => {
    const numbers = nigerianNumbers(CANCELLED_COUNT, COUNT);
    const id = await world.draft(numbers);
    const before = await world.balance();
    await world.start(id);
    await leftQueue(id, CANCELLED_COUNT / 20);
    const request = world.campaigns.cancelOpenCampaign(world.target(id)).catch(() => undefined);
    for (const name of ["campaign", "messaging", "wallet"]) {
      await world.stack.kill(name);
      await world.stack.restart(name);
    }
    await request;
    // The caller repeats a request without an answer; a cancelled campaign stays as it is.
    const cancel = () => world.campaigns.cancelOpenCampaign(world.target(id));
    await eventually(async () => (await cancel()).campaign !== undefined, {
      timeoutMs: HOLDS_MAX_MS,
      everyMs: 500,
      what: "the answer to a cancel",
    });
    await eventually(async () => (await world.held()) === 0n, {
      timeoutMs: HOLDS_MAX_MS,
      everyMs: 100,
      what: "the end of all holds",
    });
    await world.settles(id, 300_000);
    // Rows that waited, or wait again after their message was cancelled, end page by page.
    const hasEnded = async () => (await world.get(id)).progress?.waiting === 0n;
    await eventually(hasEnded, { timeoutMs: 60_000, everyMs: 200, what: "the end of all rows" });
    const { status, progress } = await world.settles(id, 300_000);
    expect(status).to.equal(CampaignStatus.CANCELLED);
    expect(Number(progress?.cancelled), "cancelled").to.be.greaterThan(0);
    expect(before - (await world.balance())).to.equal(progress?.chargedAmount);
    const submits = await world.submits();
    const counts = numbers.map((number) => submits[number.slice(1)]?.total ?? 0);
    expect(counts.filter((count) => count > 1).length, "submitted again").to.equal(0);
  });

  /** Waits until so many messages have left the queue, so that the kills spread over the whole campaign. */
  async function leftQueue(id: string, count: number): Promise<void> {
    const hasLeft = async () => {
      const { status, progress } = await world.get(id);
      if (status === CampaignStatus.COMPLETED || progress === undefined) return true;
      const left = progress.total - progress.waiting - progress.queued;
      return left >= count;
    };
    await eventually(hasLeft, {
      timeoutMs: CAMPAIGN_MAX_MS,
      everyMs: 100,
      what: `the sending of ${count} messages`,
    });
  }
});
