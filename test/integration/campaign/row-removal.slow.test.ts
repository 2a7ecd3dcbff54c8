import { expect } from "chai";
import { MongoClient } from "mongodb";
import {
  type CampaignStack,
  nigerianNumbers,
  startCampaignStack,
} from "../../support/campaign-stack.ts";
import { eventually } from "../../support/poll.ts";
import { smsctl } from "../../support/smsctl.ts";

const COUNT = Number(process.env.CAMPAIGN_RECIPIENTS ?? 200_000);
const INSERTED_AT_ONCE = 20_000;
/** A request that changes two documents, on a busy machine. */
const ANSWER_MAX_MS = 2000;

describe("a draft with many recipients", function () {
  this.timeout(300_000);
  let world: CampaignStack;
  let client: MongoClient;
  before(async () => {
    world = await startCampaignStack();
    client = await new MongoClient(world.stack.mongodb_uri).connect();
  });
  after(async () => {
    await client?.close();
    await world?.stop();
  });

  it("is empty at once after their removal, and a killed process removes them later", async () => {
    const rows = client.db("sms_campaign").collection("rows");
    const discarded = client.db("sms_campaign").collection("discarded_row_sets");
    const numbers = nigerianNumbers(1000);
    const id = await world.draft(numbers);
    await addRows(id, numbers.length);
    expect((await world.get(id)).progress?.total).to.equal(BigInt(COUNT));

    const beganMs = performance.now();
    const cleared = await world.campaigns.clearRecipients(world.target(id));
    expect(performance.now() - beganMs).to.be.below(ANSWER_MAX_MS);
    expect(cleared.campaign?.progress?.total).to.equal(0n);
    const { recipients } = await world.campaigns.listRecipients(world.target(id));
    expect(recipients).to.deep.equal([]);

    const added = await world.campaigns.addRecipients({
      ...world.target(id),
      rows: numbers.map((to) => ({ to, variables: { name: "you" } })),
    });
    expect(added).to.include({ taken: 1000, duplicates: 0 });
    // A process removes them when it starts, and every minute.
    await world.stack.restart("campaign");
    const old = { campaign_id: id };
    await eventually(async () => (await rows.countDocuments(old)) < COUNT, {
      ...{ timeoutMs: 30_000, what: "the begin of the removal" },
    });
    await world.stack.kill("campaign");
    expect(await rows.countDocuments(old), "left by the killed process").to.be.greaterThan(0);
    await world.stack.restart("campaign");
    const isRemoved = async () =>
      (await rows.countDocuments(old)) === 0 && (await discarded.countDocuments()) === 0;
    await eventually(isRemoved, { timeoutMs: 180_000, everyMs: 200, what: "the removal" });

    const left = await world.campaigns.listRecipients({ ...world.target(id), limit: 1000 });
    expect(left.recipients.map(({ to }) => to)).to.deep.equal(numbers);
    const { code, value } = await smsctl(world.stack, "check");
    expect(code, JSON.stringify(value)).to.equal(0);
  });

  /** Writes the other rows into the database: importing them takes longer than the test. */
  async function addRows(id: string, from: number): Promise<void> {
    const database = client.db("sms_campaign");
    const all = nigerianNumbers(COUNT);
    for (let at = from; at < COUNT; at += INSERTED_AT_ONCE) {
      const some = all.slice(at, at + INSERTED_AT_ONCE).map((to, place) => ({
        ...{ _id: `${id}${to}` as never, campaign_id: id, index: at + place, to },
      }));
      await database.collection("rows").insertMany(some, { ordered: false });
    }
    await database
      .collection<{ _id: string }>("campaigns")
      .updateOne({ _id: id }, { $set: { "progress.waiting": COUNT, next_row: COUNT } });
  }
});
