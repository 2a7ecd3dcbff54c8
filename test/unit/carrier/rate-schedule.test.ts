import { expect } from "chai";
import { createBind } from "../../../services/carrier/app/bind.ts";
import type { Link } from "../../../services/carrier/app/link.ts";
import { createBindStats } from "../../../services/carrier/domain/bind-stats.ts";
import {
  type CongestionWindow,
  freeSlots,
  onAccepted,
  onBindRefused,
  onResponse,
  onTimeout,
  openWindow,
} from "../../../services/carrier/domain/congestion-control.ts";
import { JournalError } from "../../../services/carrier/domain/message.ts";
import {
  acquirePermits,
  EMPTY_RATE_STATE,
  intervalUs,
  TOLERANCE_MS,
} from "../../../services/carrier/domain/rate-schedule.ts";
import { createManualClock } from "../../../services/shared/core/clock.ts";
import { createLogger } from "../../../services/shared/io/log.ts";
import { busiestSecond } from "../../support/busiest-second.ts";
import { claimed } from "../../support/carrier-messages.ts";

/** The instants are in microseconds. */
const SECOND_US = 1_000_000;

describe("the congestion window of a refused bind", () => {
  it("a refusal pauses the bind and halves its window", () => {
    const window = onBindRefused(openWindow(100), 1000);
    expect(freeSlots(window, 0, 1050)).to.equal(0);
    expect(freeSlots(window, 0, 1100)).to.equal(50);
    expect(freeSlots(window, 20, 1100)).to.equal(30);
  });

  it("answers to one burst count once, and each refusal in a row doubles the pause", () => {
    const once = onBindRefused(onBindRefused(openWindow(100), 1000), 1001);
    expect(once.pausedUntilMs).to.equal(1100);
    const twice = onBindRefused(once, 1100);
    expect(twice.pausedUntilMs).to.equal(1300);
    let worst = twice;
    for (let n = 0; n < 50; n++) worst = onBindRefused(worst, worst.pausedUntilMs);
    expect(worst.size).to.equal(1);
    expect(freeSlots(worst, 0, worst.pausedUntilMs)).to.equal(1);
    expect(onBindRefused(worst, worst.pausedUntilMs).pausedUntilMs - worst.pausedUntilMs).to.equal(
      5000,
    );
  });

  it("accepted submits widen it up to the window of the connector", () => {
    let window = onBindRefused(onBindRefused(openWindow(10), 0), 100);
    for (let n = 0; n < 200; n++) window = onAccepted(window, 10);
    expect(window.size).to.equal(10);
    expect(window.nextPauseMs).to.equal(100);
  });
});

describe("the congestion window of a bind whose carrier does not answer", () => {
  const answered = (window: CongestionWindow, nowMs: number) =>
    onAccepted(onResponse(window, nowMs), 100);

  it("a window of unanswered submits counts once and leaves one submit after a pause", () => {
    let window = openWindow(100);
    for (let n = 0; n < 100; n++) window = onTimeout(window, 0, 10_000);
    expect(freeSlots(window, 0, 10_099)).to.equal(0);
    expect(freeSlots(window, 0, 10_100)).to.equal(1);
  });

  it("each unanswered probe doubles the pause, up to five seconds", () => {
    let window = openWindow(100);
    const pauses: number[] = [];
    for (let nowMs = 0; pauses.length < 9; nowMs = window.pausedUntilMs) {
      window = onTimeout(window, nowMs, nowMs);
      pauses.push(window.pausedUntilMs - nowMs);
    }
    expect(pauses).to.deep.equal([100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000]);
    expect(window.size).to.equal(1);
  });

  it("a lost submit changes nothing when later ones were answered", () => {
    const window = answered(openWindow(100), 9000);
    expect(onTimeout(window, 500, 10_500)).to.equal(window);
  });

  it("the first answers open it by one each to half of its earlier size, then by one per window", () => {
    let window = onTimeout(openWindow(100), 0, 0);
    window = onTimeout(window, 100, 100);
    for (let n = 0; n < 49; n++) window = answered(window, 1000 + n);
    expect(window.size).to.equal(50);
    window = answered(window, 2000);
    expect(window.size).to.equal(50.02);
    expect(window.nextPauseMs).to.equal(100);
  });

  const unusable = { kind: "refused", code: "ESME_RINVBNDSTS", disposition: "bind" } as const;
  for (const [outcome, room] of [
    [{ kind: "unknown", code: "closed" }, 1],
    [unusable, 50],
    [{ kind: "not_sent", code: "closed" }, 100],
  ] as const) {
    it(`a bind has room for ${room} after a submit that was ${outcome.kind} ${outcome.code}`, async () => {
      const clock = createManualClock(1_000_000);
      const link = {
        ...{ status: "bound", lastError: "", window: 100, inFlight: 0 },
        submit: async () => outcome,
      } as unknown as Link;
      const bind = createBind(0, link, clock, createLogger("test", "silent"));
      await bind.submit({ messageId: "msg_0", index: 0, payload: null }, claimed());
      clock.advance(100);
      expect(bind.room).to.equal(room);
    });
  }
});

describe("a link that throws", () => {
  const submitOver = async (fault: Error) => {
    const link = {
      ...{ status: "bound", lastError: "", window: 100, inFlight: 0 },
      submit: () => Promise.reject(fault),
    } as unknown as Link;
    const bind = createBind(0, link, createManualClock(0), createLogger("test", "silent"));
    return (await bind.submit({ messageId: "msg_0", index: 0, payload: null }, claimed())).kind;
  };

  it("puts the message in doubt, because octets may have left", async () => {
    expect(await submitOver(new TypeError("a fault of ours"))).to.equal("unknown");
  });

  it("has sent nothing when the journal failed", async () => {
    expect(await submitOver(new JournalError(new Error("no space")))).to.equal("not_sent");
  });
});

describe("submits within a rate", () => {
  for (const rate of [1, 10, 100, 2500]) {
    it(`${rate}/s: no second exceeds the rate, and 97 % of it are used, with timers up to 30 ms late`, () => {
      for (const lateMs of [1, 10, 30]) {
        const sent = simulate(rate, 60, lateMs);
        expect(busiestSecond(sent, SECOND_US)).to.be.at.most(rate);
        expect(sent.length).to.be.at.least(Math.floor(rate * 60 * 0.97));
      }
    });

    it(`${rate}/s: no second exceeds the rate after pauses of the process`, () => {
      expect(busiestSecond(simulate(rate, 60, 700), SECOND_US)).to.be.at.most(rate);
    });
  }

  it("unused permits accumulate only within the tolerance", () => {
    const rate = { intervalUs: intervalUs(1000), most: 1000 };
    const { grant } = acquirePermits(EMPTY_RATE_STATE, 3_600_000_000, rate, 10_000);
    expect(grant.count).to.equal(Math.floor((TOLERANCE_MS * 1000) / rate.intervalUs) + 1);
  });

  it("no permit is available before the returned wait", () => {
    const rate = { intervalUs: intervalUs(10), most: 10 };
    let state = EMPTY_RATE_STATE;
    let nowUs = 10_000_000;
    let waits = 0;
    for (let round = 0; round < 100; round++) {
      const taken = acquirePermits(state, nowUs, rate, 1);
      state = taken.state;
      const waitUs = taken.grant.waitMs * 1000;
      if (waitUs > 0) {
        waits += 1;
        expect(acquirePermits(state, nowUs + waitUs - 1, rate, 1).grant.count).to.equal(0);
        expect(acquirePermits(state, nowUs + waitUs, rate, 1).grant.count).to.equal(1);
      }
      nowUs += Math.max(1, waitUs);
    }
    expect(waits).to.be.at.least(90);
  });
});

/** Acquires permits as the dispatcher does, with timers up to `lateMs` late. */
function simulate(rate: number, seconds: number, lateMs: number): number[] {
  const sent: number[] = [];
  let state = EMPTY_RATE_STATE;
  let nowUs = 1_000_000_000;
  const endUs = nowUs + seconds * 1_000_000;
  for (let round = 0; nowUs < endUs; round++) {
    const taken = acquirePermits(state, nowUs, { intervalUs: intervalUs(rate), most: rate }, rate);
    state = taken.state;
    for (let n = 0; n < taken.grant.count; n++) sent.push(nowUs);
    nowUs += Math.max(5, Math.ceil(taken.grant.waitMs)) * 1000 + ((round * 7919) % (lateMs * 1000));
  }
  return sent;
}

describe("the statistics of a bind", () => {
  it("failures exclude throttling and refusals of one message", () => {
    const stats = createBindStats();
    const outcomes = [
      { kind: "accepted", carrierMessageId: "1" },
      { kind: "refused", code: "x", disposition: "permanent" },
      { kind: "refused", code: "x", disposition: "throttled" },
      { kind: "unknown", code: "timeout" },
    ] as const;
    for (const outcome of outcomes) {
      stats.noteSubmit(10_000);
      stats.noteOutcome(outcome, 20, 10_000);
    }
    const figures = stats.read(11_000);
    expect(figures.failureShare).to.equal(0.25);
    expect(figures).to.include({ submitted: 4, throttled: 1, unknown: 1, answerMsP99: 20 });
    expect(figures.submitsPerSecond).to.equal(4 / 5);
    expect(figures).to.include({ answers: 4, failures: 1 });
    expect(stats.read(60_000)).to.include({ failureShare: 0, answers: 4, failures: 1 });
  });
});
