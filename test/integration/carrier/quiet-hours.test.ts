/** A short night. `quiet-hours.slow.test.ts` has 10,000 messages, kills and a clock that goes back and forth. */
import { expect } from "chai";
import { eventually } from "../../support/poll.ts";
import type { QuietNight } from "../../support/quiet-night.ts";
import { EVENING_MS, isInNight, MORNING_MS, startQuietNight } from "../../support/quiet-night.ts";

const COUNT = 200;
const RATE = 25;

describe("promotional messages shortly before quiet hours", function () {
  this.timeout(120_000);
  let night: QuietNight;

  before(async () => {
    night = await startQuietNight(RATE);
  });
  after(() => night?.stop());

  it("none is submitted inside them, and all after them", async () => {
    await night.stepTo(EVENING_MS - 5000);
    await night.send(COUNT);
    await eventually(async () => ((await night.states())["queued|quiet"] ?? 0) > 0, {
      timeoutMs: 20_000,
    });
    const before = await eventually(async () => {
      const { "queued|quiet": quiet = 0, ...others } = await night.states();
      const open = Object.entries(others).filter(([state]) => state.startsWith("queued"));
      return open.length === 0 && COUNT - quiet;
    });
    expect(before).to.be.within(1, 5 * RATE);
    expect(await night.submits()).to.equal(before);
    await night.stepTo(MORNING_MS - 2000);
    expect(await night.submits(), "nothing overnight").to.equal(before);
    await night.until(night.now() + 1000);
    expect(await night.submits(), "nothing before the end").to.equal(before);
    await eventually(async () => (await night.submits()) === COUNT, { timeoutMs: 30_000 });
    await eventually(async () => {
      const states = Object.keys(await night.states());
      return states.every((state) => state === "sent|" || state === "delivered|");
    });
    expect((await night.sentAt()).filter(isInNight)).to.deep.equal([]);
  });
});
