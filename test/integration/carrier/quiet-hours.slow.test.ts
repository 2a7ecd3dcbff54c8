/**
 * A whole night of promotional messages: kills, and clocks that are stepped by an hour both ways.
 * `QUIET_COUNT=10000 mocha test/integration/carrier/quiet-hours.slow.test.ts` sends more of them.
 */
import { expect } from "chai";
import { eventually } from "../../support/poll.ts";
import type { QuietNight } from "../../support/quiet-night.ts";
import {
  EVENING_MS,
  HOUR_MS,
  isInNight,
  MORNING_MS,
  startQuietNight,
} from "../../support/quiet-night.ts";

const COUNT = Number(process.env.QUIET_COUNT ?? 2500);
const RATE = 100;
const PRICE = 40_000n;
/** The contract's limit for single sends behind bulk ones; on a busy machine a ratio to the idle stack counts. */
const SINGLE_MAX_MS = 1000;
const SINGLE_RATIO_MAX = 3;

describe(`${COUNT} promotional messages ten seconds before quiet hours`, function () {
  this.timeout(900_000);
  let night: QuietNight;
  let early = 0;
  let singles = 0;
  let singleMaxMs = SINGLE_MAX_MS;

  before(async () => {
    night = await startQuietNight(RATE);
    singleMaxMs = Math.max(SINGLE_MAX_MS, SINGLE_RATIO_MAX * (await slowestSingle(10)));
  });
  after(() => night?.stop());

  /** The slowest of some single sends, one after another. */
  async function slowestSingle(count: number): Promise<number> {
    let slowestMs = 0;
    for (let at = 0; at < count; at += 1) {
      singles += 1;
      slowestMs = Math.max(slowestMs, await night.sendSingle());
    }
    return slowestMs;
  }

  /** Promotional submits: all but the single sends. */
  const submitted = async () => (await night.submits()) - singles;

  it("bulk messages in quiet hours wait, and single sends of other classes pass them", async () => {
    await night.stepTo(EVENING_MS - 10_500);
    const beginsMs = night.now() + EVENING_MS - (night.now() % (24 * HOUR_MS));
    await night.send(COUNT);
    await night.until(beginsMs);
    const singlesMs = await slowestSingle(10);
    await eventually(
      async () => {
        const { "queued|quiet": quiet = 0, ...others } = await night.states();
        early = COUNT - quiet;
        return Object.keys(others).every((state) => !state.startsWith("queued"));
      },
      { timeoutMs: 60_000, everyMs: 200 },
    );
    expect(early).to.be.within(1, 10 * RATE);
    expect(await submitted()).to.equal(early);
    expect(singlesMs).to.be.below(singleMaxMs);
    await eventually(async () => (await night.held()) === BigInt(COUNT - early) * PRICE, {
      timeoutMs: 60_000,
      everyMs: 500,
    });
  });

  it("no message is submitted in the night, in spite of kills and clock steps in both directions", async () => {
    const waiting = COUNT - early;
    const stillWaits = async () => {
      expect((await night.states())["queued|quiet"]).to.equal(waiting);
      expect(await submitted()).to.equal(early);
    };
    for (const name of ["carrier", "core"]) {
      await night.carrier.stack.kill(name);
      await night.carrier.stack.restart(name);
      await stillWaits();
    }
    await night.step(HOUR_MS);
    await stillWaits();
    await night.step(-HOUR_MS);
    await stillWaits();
    await night.stepTo(MORNING_MS - 3000);
    await stillWaits();
    expect(await night.held()).to.equal(BigInt(waiting) * PRICE);
  });

  it("all are submitted in the morning, at the connector's rate, and single sends pass them", async () => {
    const some = Math.min(500, Math.floor((COUNT - early) / 4));
    const more = (count: number) =>
      eventually(async () => (await submitted()) >= early + count, {
        ...{ timeoutMs: 180_000, everyMs: 100 },
      });
    await more(some);
    expect(await slowestSingle(10)).to.be.below(singleMaxMs);
    // Back into the night: nothing more, until the clock is right again.
    const backMs = (night.now() - HOUR_MS) % (24 * HOUR_MS);
    await night.step(-HOUR_MS);
    await night.until(night.now() + 1000);
    const atRest = await submitted();
    await night.until(night.now() + 3000);
    expect(await submitted()).to.equal(atRest);
    await night.step(HOUR_MS);
    await eventually(async () => (await submitted()) === COUNT, {
      ...{ timeoutMs: 480_000, everyMs: 500 },
    });
    await eventually(
      async () =>
        Object.keys(await night.states()).every((state) => /^(sent|delivered)\|$/.test(state)),
      { timeoutMs: 60_000, everyMs: 500 },
    );
    const inNight = (await night.sentAt()).filter(isInNight);
    // An answer to an earlier submit may come after the step.
    const wrong = inNight.filter((at) => at < backMs || at > backMs + 2000);
    expect(wrong).to.deep.equal([]);
    await eventually(async () => (await night.held()) === 0n, {
      ...{ timeoutMs: 60_000, everyMs: 500 },
    });
  });
});
