import { expect } from "chai";
import type { Link } from "../../../services/carrier/adapters/links/link.ts";
import { createBind } from "../../../services/carrier/app/paced-link.ts";
import { createBindStats } from "../../../services/carrier/domain/bind-stats.ts";
import {
  type CongestionWindow,
  doubt,
  noteAnswer,
  openFlow,
  roomOf,
  throttle,
  widen,
} from "../../../services/carrier/domain/congestion-control.ts";
import { JournalError } from "../../../services/carrier/domain/message.ts";
import {
  acquirePermits,
  EMPTY_LINE,
  intervalUs,
  TOLERANCE_MS,
} from "../../../services/carrier/domain/rate-schedule.ts";
import { createManualClock } from "../../../services/shared/core/clock.ts";
import { createLogger } from "../../../services/shared/io/log.ts";
import { busiestSecond } from "../../support/busiest-second.ts";

/** The instants are in microseconds. */
const SECOND_US = 1_000_000;

describe("the pace of a throttled bind", () => {
  it("a throttled submit pauses the bind and halves what it may have unanswered", () => {
    const flow = throttle(openFlow(100), 1000);
    expect(roomOf(flow, 0, 1050)).to.equal(0);
    expect(roomOf(flow, 0, 1100)).to.equal(50);
    expect(roomOf(flow, 20, 1100)).to.equal(30);
  });

  it("answers to one burst count as one, throttling in a row pauses twice as long", () => {
    const once = throttle(throttle(openFlow(100), 1000), 1001);
    expect(once.pausedUntilMs).to.equal(1100);
    const twice = throttle(once, 1100);
    expect(twice.pausedUntilMs).to.equal(1300);
    let worst = twice;
    for (let n = 0; n < 50; n++) worst = throttle(worst, worst.pausedUntilMs);
    expect(worst.allowance).to.equal(1);
    expect(roomOf(worst, 0, worst.pausedUntilMs)).to.equal(1);
    expect(throttle(worst, worst.pausedUntilMs).pausedUntilMs - worst.pausedUntilMs).to.equal(5000);
  });

  it("accepted submits widen it to the window and not beyond", () => {
    let flow = throttle(throttle(openFlow(10), 0), 100);
    for (let n = 0; n < 200; n++) flow = widen(flow, 10);
    expect(flow.allowance).to.equal(10);
    expect(flow.nextPauseMs).to.equal(100);
  });
});

describe("the pace of a bind whose carrier does not answer", () => {
  const answered = (flow: CongestionWindow, nowMs: number) => widen(noteAnswer(flow, nowMs), 100);

  it("a window without an answer counts once, and leaves one submit after a pause", () => {
    let flow = openFlow(100);
    for (let n = 0; n < 100; n++) flow = doubt(flow, 0, 10_000);
    expect(roomOf(flow, 0, 10_099)).to.equal(0);
    expect(roomOf(flow, 0, 10_100)).to.equal(1);
  });

  it("each probe without an answer pauses twice as long, at most five seconds", () => {
    let flow = openFlow(100);
    const pauses: number[] = [];
    for (let nowMs = 0; pauses.length < 9; nowMs = flow.pausedUntilMs) {
      flow = doubt(flow, nowMs, nowMs);
      pauses.push(flow.pausedUntilMs - nowMs);
    }
    expect(pauses).to.deep.equal([100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000]);
    expect(flow.allowance).to.equal(1);
  });

  it("a submit that was lost while others were answered slows nothing down", () => {
    const flow = answered(openFlow(100), 9000);
    expect(doubt(flow, 500, 10_500)).to.equal(flow);
  });

  it("the first answers open it fast to half of what it was, whatever the probes before, then by one a window", () => {
    let flow = doubt(openFlow(100), 0, 0);
    flow = doubt(flow, 100, 100);
    for (let n = 0; n < 49; n++) flow = answered(flow, 1000 + n);
    expect(flow.allowance).to.equal(50);
    flow = answered(flow, 2000);
    expect(flow.allowance).to.equal(50.02);
    expect(flow.nextPauseMs).to.equal(100);
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
      await bind.submit({ messageId: "msg_0", index: 0, payload: null });
      clock.advance(100);
      expect(bind.room).to.equal(room);
    });
  }
});

describe("a link that breaks its promise", () => {
  const submitOver = async (fault: Error) => {
    const link = {
      ...{ status: "bound", lastError: "", window: 100, inFlight: 0 },
      submit: () => Promise.reject(fault),
    } as unknown as Link;
    const bind = createBind(0, link, createManualClock(0), createLogger("test", "silent"));
    return (await bind.submit({ messageId: "msg_0", index: 0, payload: null })).kind;
  };

  it("is in doubt: octets may have left", async () => {
    expect(await submitOver(new TypeError("a fault of ours"))).to.equal("unknown");
  });

  it("has sent nothing when it was the journal that failed", async () => {
    expect(await submitOver(new JournalError(new Error("no space")))).to.equal("not_sent");
  });
});

describe("submits within a rate", () => {
  for (const rate of [1, 10, 100, 2500]) {
    it(`${rate}/s: no second holds more, and 97 % are used, with timers as late as a busy machine's`, () => {
      for (const lateMs of [1, 10, 30]) {
        const sent = simulate(rate, 60, lateMs);
        expect(busiestSecond(sent, SECOND_US)).to.be.at.most(rate);
        expect(sent.length).to.be.at.least(Math.floor(rate * 60 * 0.97));
      }
    });

    it(`${rate}/s: no second holds more after stalls`, () => {
      expect(busiestSecond(simulate(rate, 60, 700), SECOND_US)).to.be.at.most(rate);
    });
  }

  it("what was not used is not saved up beyond the tolerance", () => {
    const rate = { intervalUs: intervalUs(1000), most: 1000 };
    const { grant } = acquirePermits(EMPTY_LINE, 3_600_000_000, rate, 10_000);
    expect(grant.count).to.equal(Math.floor((TOLERANCE_MS * 1000) / rate.intervalUs) + 1);
  });

  it("it is not worth asking before the time it says", () => {
    const rate = { intervalUs: intervalUs(10), most: 10 };
    let line = EMPTY_LINE;
    let nowUs = 10_000_000;
    let waits = 0;
    for (let turn = 0; turn < 100; turn++) {
      const taken = acquirePermits(line, nowUs, rate, 1);
      line = taken.line;
      const waitUs = taken.grant.waitMs * 1000;
      if (waitUs > 0) {
        waits += 1;
        expect(acquirePermits(line, nowUs + waitUs - 1, rate, 1).grant.count).to.equal(0);
        expect(acquirePermits(line, nowUs + waitUs, rate, 1).grant.count).to.equal(1);
      }
      nowUs += Math.max(1, waitUs);
    }
    expect(waits).to.be.at.least(90);
  });
});

/** Asks as the dispatcher does: all it can use, again when told to, with timers up to `lateMs` late. */
function simulate(rate: number, seconds: number, lateMs: number): number[] {
  const sent: number[] = [];
  let line = EMPTY_LINE;
  let nowUs = 1_000_000_000;
  const endUs = nowUs + seconds * 1_000_000;
  for (let turn = 0; nowUs < endUs; turn++) {
    const taken = acquirePermits(line, nowUs, { intervalUs: intervalUs(rate), most: rate }, rate);
    line = taken.line;
    for (let n = 0; n < taken.grant.count; n++) sent.push(nowUs);
    nowUs += Math.max(5, Math.ceil(taken.grant.waitMs)) * 1000 + ((turn * 7919) % (lateMs * 1000));
  }
  return sent;
}

describe("the figures of a bind", () => {
  it("failures are the carrier's own: not throttling, not a refusal of one message", () => {
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
