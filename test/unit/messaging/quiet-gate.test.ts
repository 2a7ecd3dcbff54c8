import { expect } from "chai";
import type { MessageStore, ServiceClients } from "../../../services/messaging/app/ports.ts";
import { createQuietGate } from "../../../services/messaging/app/quiet-gate.ts";
import type { Changes, Decide } from "../../../services/messaging/app/update-messages.ts";
import type { Message } from "../../../services/messaging/domain/message.ts";
import {
  createQuietHours,
  createUnknownQuietHours,
  type QuietHours,
} from "../../../services/messaging/domain/quiet-hours.ts";
import { createManualClock } from "../../../services/shared/core/clock.ts";
import { AppError } from "../../../services/shared/core/errors.ts";
import {
  DEFAULT_QUIET_HOURS,
  parseQuietRules,
} from "../../../services/shared/core/quiet-hours-text.ts";
import { createLogger } from "../../../services/shared/io/log.ts";
import { messageIn, TIMEOUTS } from "../../support/messages.ts";
import { eventually } from "../../support/poll.ts";

const NIGHT = Date.parse("2026-11-27T22:00Z");
const MORNING = Date.parse("2026-11-28T07:00Z");
const rules = () => createQuietHours(parseQuietRules(DEFAULT_QUIET_HOURS));

/** A gate over one message in memory. */
function setUp(message: Message, nowMs: number) {
  const stored = new Map([[message.id, message]]);
  const checkedAgain: number[] = [];
  const state = {
    quietHours: rules() as QuietHours,
    isConsentAway: false,
    optedOut: new Set<string>(),
    /** Called before each write. */
    onWrite: async () => {},
  };
  const clock = createManualClock(nowMs);
  const gate = createQuietGate({
    clock,
    log: createLogger("test", "silent"),
    timeouts: TIMEOUTS,
    store: {
      findQuiet: async (atMs: number) =>
        [...stored.values()].filter(
          ({ quietUntilMs = Number.POSITIVE_INFINITY }) => quietUntilMs <= atMs,
        ),
      endQuietAt: async (atMs: number) => void checkedAgain.push(atMs),
    } as unknown as MessageStore,
    changes: {
      async change(id: string, decide: Decide) {
        await state.onWrite();
        const decision = decide(stored.get(id) as Message, clock.now());
        stored.set(id, decision.message);
        return decision;
      },
    } as unknown as Changes,
    services: {
      quietHours: () => state.quietHours,
      tenant: async () => ({ suspended: false }),
      usableSender: async () => ({ name: "Acme", trafficClass: "promotional" }),
      async suppressions() {
        if (state.isConsentAway) throw new AppError("service_unavailable", "away");
        return { has: (number: string) => state.optedOut.has(number) };
      },
    } as unknown as ServiceClients,
  });
  return { gate, state, clock, checkedAgain, now: () => stored.get(message.id) as Message };
}

const waiting = messageIn("waiting", { trafficClass: "promotional" });
const quiet = messageIn("quiet", { trafficClass: "promotional", quietUntilMs: MORNING });

describe("the gate of quiet hours", () => {
  it("releases a message when its quiet hours have ended, not before", async () => {
    const { gate, clock, now } = setUp(quiet, MORNING - 1);
    await gate.release();
    expect(now().phase).to.equal("quiet");
    clock.advance(1);
    await gate.release();
    expect(now().phase).to.equal("waiting");
  });

  it("fails a message whose recipient opted out while it waited", async () => {
    const { gate, state, now } = setUp(quiet, MORNING);
    state.optedOut.add(quiet.to);
    await gate.release();
    expect(now().error?.code).to.equal("recipient_opted_out");
  });

  it("keeps promotional messages while opt-outs cannot be read", async () => {
    const { gate, state, now } = setUp(quiet, MORNING);
    state.isConsentAway = true;
    expect(await gate.release()).to.equal(false);
    expect(now().phase).to.equal("quiet");
    state.isConsentAway = false;
    await gate.release();
    expect(now().phase).to.equal("waiting");
  });

  it("checks waiting messages again when the rules change, and not when they are first known", async () => {
    const { gate, state, checkedAgain } = setUp(quiet, NIGHT);
    state.quietHours = createUnknownQuietHours();
    await gate.release();
    state.quietHours = rules();
    await gate.release();
    await gate.release();
    expect(checkedAgain).to.deep.equal([]);
    state.quietHours = rules();
    await gate.release();
    await gate.release();
    expect(checkedAgain).to.deep.equal([NIGHT]);
  });

  it("checks them once more when a write by the old rules comes late", async () => {
    const { gate, state, checkedAgain, now } = setUp(waiting, NIGHT);
    await gate.release();
    const { promise: held, resolve: go } = Promise.withResolvers<void>();
    state.onWrite = () => held;
    gate.takeOut([waiting]);
    state.quietHours = createQuietHours([]);
    await gate.release();
    expect(checkedAgain).to.have.length(1);
    go();
    await eventually(() => now().phase === "quiet");
    await eventually(async () => {
      await gate.release();
      return checkedAgain.length === 2;
    });
  });

  it("is busy while messages are taken out, and free again after a failed write", async () => {
    const { gate, state, now } = setUp(waiting, NIGHT);
    const { promise: held, reject } = Promise.withResolvers<void>();
    state.onWrite = () => held;
    gate.takeOut([waiting]);
    gate.takeOut([waiting]);
    expect(gate.isBusy).to.equal(true);
    reject(new AppError("service_unavailable", "away"));
    await eventually(() => !gate.isBusy);
    expect(now().phase).to.equal("waiting");
  });
});
