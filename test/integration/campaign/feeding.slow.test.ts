import { expect } from "chai";
import { CampaignStatus } from "../../../proto/gen/sms/v1/campaign_pb.js";
import {
  type CampaignStack,
  nigerianNumbers,
  startCampaignStack,
} from "../../support/campaign-stack.ts";
import { callRest, type SeenMessage } from "../../support/customer.ts";
import { eventually } from "../../support/poll.ts";
import { smsctl } from "../../support/smsctl.ts";

/** Submits that the seeded connector may have unanswered. */
const WINDOW = 100;
const SINGLES = 10;
/** The promise; on a busy machine the ratio to single sends without campaigns counts. */
const SINGLE_MAX_MS = 1000;
const SINGLE_RATIO_MAX = 5;

describe("campaigns at full speed", function () {
  this.timeout(180_000);
  let world: CampaignStack;
  before(async () => {
    world = await startCampaignStack();
  });
  after(() => world?.stop());

  it("a pause stops submits within a second, but for those in the carrier's window", async () => {
    const id = await world.draft(nigerianNumbers(8000));
    await world.start(id);
    const isFast = async () => (await world.submitted()) > 500;
    await eventually(isFast, { timeoutMs: 60_000, what: "500 submits" });
    const before = await world.submitted();
    await world.campaigns.pauseCampaign(world.target(id));
    await within(1000);
    const afterSecond = await world.submitted();
    expect(afterSecond, "the campaign was still running").to.be.greaterThan(before);
    // The time in which a submit would be late.
    await within(3000);
    expect((await world.submitted()) - afterSecond).to.be.at.most(WINDOW);
    const { progress, status } = await world.settles(id);
    expect(status).to.equal(CampaignStatus.PAUSED);
    expect(Number(progress?.waiting)).to.be.greaterThan(0);
    await world.campaigns.cancelOpenCampaign(world.target(id));
  });

  it("single sends of another tenant are sent within a second while two campaigns run", async () => {
    const other = await otherTenant();
    const slowestSingle = async (from: number) => {
      let slowestMs = 0;
      for (let at = from; at < from + SINGLES; at += 1) {
        slowestMs = Math.max(slowestMs, await sentAfterMs(other, at));
      }
      return slowestMs;
    };
    const calmMs = await slowestSingle(0);
    const ids: string[] = [];
    for (const from of [100_000, 200_000]) {
      ids.push(await world.draft(nigerianNumbers(15_000, from)));
    }
    // Both together: the first must not end while the rows of the second are imported.
    for (const id of ids) await world.start(id);
    await eventually(
      async () => {
        const both = await Promise.all(ids.map((id) => world.get(id)));
        return both.every(
          ({ progress }) => (progress?.sent ?? 0n) + (progress?.delivered ?? 0n) > 0n,
        );
      },
      { timeoutMs: 60_000, what: "messages of both campaigns" },
    );
    const busyMs = await slowestSingle(SINGLES);
    const running = await Promise.all(ids.map(async (id) => (await world.get(id)).status));
    expect(running).to.deep.equal([CampaignStatus.RUNNING, CampaignStatus.RUNNING]);
    expect(busyMs).to.be.below(Math.max(SINGLE_MAX_MS, SINGLE_RATIO_MAX * calmMs));
    for (const id of ids) await world.campaigns.cancelOpenCampaign(world.target(id));
  });

  async function otherTenant(): Promise<string> {
    const run = async (...words: string[]) => {
      const { code, value, error } = await smsctl(world.stack, ...words);
      if (code !== 0) throw new Error(error);
      return value as { id: string; secret?: string };
    };
    const { id } = await run("tenant", "create", "--name", "Other");
    await run("wallet", "fund", "--tenant", id, "--amount", "1000");
    await run("sender-id", "add", "--tenant", id, "--name", "OTHER", "--approve");
    return (await run("key", "create", "--tenant", id)).secret ?? "";
  }

  /** From acceptance to the carrier's answer, as the message's own history says. */
  async function sentAfterMs(apiKey: string, count: number): Promise<number> {
    const to = `+23480${39_000_000 + count}`;
    const body = { to, from: "OTHER", body: "Your code is 123456." };
    const sent = await callRest(world.stack, "POST", "/v1/sms/messages", { body, apiKey });
    const { id } = sent.body.data as SeenMessage;
    let delayMs = 0;
    const isSent = async () => {
      const answer = await callRest(world.stack, "GET", `/v1/messages/${id}`, { apiKey });
      const history = (answer.body.data as SeenMessage).status_history ?? [];
      const sentAt = history.find(({ status }) => status === "sent")?.occurred_at;
      delayMs = Date.parse(sentAt ?? "") - Date.parse(history[0]?.occurred_at ?? "");
      return sentAt !== undefined;
    };
    await eventually(isSent, { timeoutMs: 30_000, everyMs: 50, what: `the submit of ${id}` });
    return delayMs;
  }
});

/** The promise is about this time, so the test lets it pass. */
function within(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
