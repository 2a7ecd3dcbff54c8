import { expect } from "chai";
import {
  type AdaptiveRate,
  allowedNow,
  onAccept,
  onRefusal,
  onSubmit,
  RATE_MIN,
  UNLIMITED,
} from "../../../services/carrier/domain/adaptive-rate.ts";
import {
  runBind,
  type VirtualCarrier,
  type VirtualMessage,
} from "../../support/virtual-carrier.ts";

const REFUSED = "+2348099";

const messages = (
  count: number,
  options: { readonly prefix?: string; readonly atMs?: number; readonly from?: string } = {},
): VirtualMessage[] => {
  const { prefix = "+2348031", atMs = 0, from = "DEMO" } = options;
  return Array.from({ length: count }, (_, at) => ({
    to: `${prefix}${String(atMs + at).padStart(6, "0")}`,
    ...{ from, atMs },
  }));
};

/** Accepts up to `rate` submits in any second. */
function limitedTo(rate: number): VirtualCarrier {
  const acceptedAtMs: number[] = [];
  return (_, nowMs) => {
    while ((acceptedAtMs[0] ?? nowMs) <= nowMs - 1000) acceptedAtMs.shift();
    if (acceptedAtMs.length >= rate) return "refuse";
    acceptedAtMs.push(nowMs);
    return "accept";
  };
}

const refusingNumbers: VirtualCarrier = ({ to }) => (to.startsWith(REFUSED) ? "refuse" : "accept");

describe("the rate of a bind", () => {
  for (const scope of ["bind", "number"] as const) {
    for (const count of [5, 40]) {
      it(`${count} refused numbers keep a hundred others back less than 1.5 s (scope ${scope})`, () => {
        const others = messages(100);
        const run = runBind({
          ...{ scope, carrier: refusingNumbers, untilMs: 1500 },
          messages: [...messages(count, { prefix: REFUSED }), ...others],
        });
        expect(run.accepted.length).to.equal(others.length);
      });
    }

    for (const rate of [10, 50, 300]) {
      it(`a carrier that takes ${rate}/s gets nine tenths of it and few more (scope ${scope})`, () => {
        const run = runBind({
          ...{ scope, carrier: limitedTo(rate), untilMs: 30_000 },
          messages: messages(rate * 40),
        });
        expect(run.accepted.length).above(0.9 * 30 * rate);
        const late = run.refusedAtMs.filter((atMs) => atMs > 20_000).length;
        expect(late / (10 * rate), "refusals per accept in the last ten seconds").below(0.3);
      });
    }

    it(`a carrier that takes nothing gets one submit per second in the end (scope ${scope})`, () => {
      const run = runBind({
        ...{ scope, carrier: () => "refuse", untilMs: 60_000 },
        messages: messages(3000),
      });
      expect(run.rate.perSecond).to.equal(RATE_MIN);
      const last = run.refusedAtMs.filter((atMs) => atMs > 50_000);
      expect(last.length).below(15);
    });
  }

  it("two numbers in fifteen that are refused for a while do not slow the others", () => {
    const isSlow = (at: number) => at % 15 === 0 || at % 15 === 7;
    const all = Array.from({ length: 6000 }, (_, at) => ({
      to: `+23480${isSlow(at) ? 99 : 31}${String(at).padStart(6, "0")}`,
      ...{ from: "DEMO", atMs: at * 5 },
    }));
    const run = runBind({
      messages: all,
      carrier: ({ to }, _, tries) => (to.startsWith(REFUSED) && tries <= 2 ? "refuse" : "accept"),
      untilMs: 35_000,
    });
    expect(run.accepted.length).to.equal(all.length);
    const waits = run.accepted.map(({ message, atMs }) => atMs - message.atMs);
    expect(waits.filter((ms) => ms > 1000).length / all.length).below(0.01);
  });

  it("a sender whose messages are all refused does not slow another sender", () => {
    const run = runBind({
      messages: Array.from({ length: 4000 }, (_, at) => ({
        to: `+2348031${String(at).padStart(6, "0")}`,
        ...{ from: at % 2 === 0 ? "BANK" : "SHOP", atMs: at * 2 },
      })),
      carrier: ({ from }) => (from === "BANK" ? "refuse" : "accept"),
      untilMs: 9000,
    });
    const waits = run.accepted.map(({ message, atMs }) => atMs - message.atMs);
    expect(waits.length).to.equal(2000);
    expect(Math.max(...waits)).below(1000);
  });

  it("after an outage of twenty seconds everything is accepted within fifteen", () => {
    const run = runBind({
      messages: Array.from({ length: 1000 }, (_, at) => ({
        to: `+2348031${String(at).padStart(6, "0")}`,
        ...{ from: "DEMO", atMs: at * 20 },
      })),
      carrier: (_, nowMs) => (nowMs < 20_000 ? "refuse" : "accept"),
      untilMs: 35_000,
    });
    expect(run.accepted.length).to.equal(1000);
  });

  const refusal = { scope: "bind", weight: 1, startPerSecond: 100 } as const;

  it("a refusal of no weight changes nothing, and the first one sets a rate below the start", () => {
    expect(onRefusal(UNLIMITED, { ...refusal, weight: 0 }).perSecond).to.equal(100);
    expect(onRefusal(UNLIMITED, refusal).perSecond).within(95, 100);
  });

  it("spaces submits, and lets a late timer catch up twenty milliseconds at most", () => {
    let rate: AdaptiveRate = { ...onRefusal(UNLIMITED, refusal), perSecond: 100 };
    rate = onSubmit(rate, 1000);
    expect(rate.nextAtMs).to.equal(990);
    expect(allowedNow(rate, 1000)).to.equal(2);
    rate = onSubmit(onSubmit(rate, 1000), 1000);
    expect(allowedNow(rate, 1000)).to.equal(0);
    expect(allowedNow(rate, 1010)).to.equal(1);
    expect(allowedNow(rate, 9000)).to.equal(3);
  });

  it("accepts take the rate away when it limits nothing any more", () => {
    let rate = onRefusal(UNLIMITED, refusal);
    for (let at = 0; at < 500; at += 1) rate = onAccept(rate, 1000);
    expect(rate).to.equal(UNLIMITED);
  });
});
