import { expect } from "chai";
import type { Message } from "../../../services/messaging/domain/message.ts";
import type { Timeouts } from "../../../services/messaging/domain/queue-transitions.ts";
import {
  createQuietHours,
  createUnknownQuietHours,
  enterQuietHours,
  isQuietAt,
  leaveQuietHours,
  openSpan,
  openTimeEnd,
} from "../../../services/messaging/domain/quiet-hours.ts";
import { applyTimeout } from "../../../services/messaging/domain/timeouts.ts";
import {
  DEFAULT_QUIET_HOURS,
  parseQuietRules,
} from "../../../services/shared/core/quiet-hours-text.ts";
import {
  ALL_AVAILABLE,
  messageIn,
  NO_QUIET_HOURS,
  STATE_NAMES,
  TIMEOUTS,
} from "../../support/messages.ts";

/** Lagos is at UTC+1: quiet from 19:00Z to 07:00Z. */
const NIGERIA = createQuietHours(parseQuietRules(DEFAULT_QUIET_HOURS));
const HOUR_MS = 3_600_000;
const RIGHTS = { tenantMaySend: true, senderIsUsable: true, recipientAllows: true };
const at = (text: string) => Date.parse(`2026-11-${text}Z`);
const EVENING = at("27T19:00");
const NIGHT = at("27T22:00");
const MORNING = at("28T07:00");
const NOON = at("28T11:00");

/** A promotional message to Nigeria that was queued at an instant. */
function promotional(queuedAtMs: number, change: Partial<Message> = {}): Message {
  return messageIn("waiting", {
    trafficClass: "promotional",
    history: [{ status: "queued", atMs: queuedAtMs, error: undefined }],
    queueUntilMs: queuedAtMs + TIMEOUTS.queueMs,
    dueAtMs: queuedAtMs + TIMEOUTS.queueMs,
    ...change,
  });
}

const leave = (message: Message, nowMs: number, rights = RIGHTS, quietHours = NIGERIA) =>
  leaveQuietHours(message, nowMs, TIMEOUTS, rights, quietHours);

describe("which messages quiet hours bind", () => {
  const table = [
    ["promotional to Nigeria at night", "+2348031234567", "promotional", NIGHT, true],
    ["promotional to Nigeria by day", "+2348031234567", "promotional", NOON, false],
    ["in the last second before them", "+2348031234567", "promotional", EVENING - 900, true],
    ["in the second before that", "+2348031234567", "promotional", EVENING - 1900, false],
    ["in their last second", "+2348031234567", "promotional", MORNING - 1, true],
    ["at their end", "+2348031234567", "promotional", MORNING, false],
    ["transactional at night", "+2348031234567", "transactional", NIGHT, false],
    ["a one-time code at night", "+2348031234567", "otp", NIGHT, false],
    ["promotional to another country", "+447911123456", "promotional", NIGHT, false],
  ] as const;
  for (const [what, to, trafficClass, nowMs, expected] of table) {
    it(`${what}: ${expected ? "bound" : "free"}`, () => {
      expect(isQuietAt({ to, trafficClass }, nowMs, NIGERIA)).to.equal(expected);
    });
  }

  it("a rule may name another class", () => {
    const rules = createQuietHours(parseQuietRules("NG otp Africa/Lagos 20:00-08:00"));
    const to = "+2348031234567";
    expect(isQuietAt({ to, trafficClass: "otp" }, NIGHT, rules)).to.equal(true);
    expect(isQuietAt({ to, trafficClass: "promotional" }, NIGHT, rules)).to.equal(false);
  });

  it("the country of a number with a shared calling code is its own", () => {
    const rules = createQuietHours(parseQuietRules("CA promotional America/Toronto 21:00-08:00"));
    const nightMs = at("28T06:00");
    const bound = (to: string) => isQuietAt({ to, trafficClass: "promotional" }, nightMs, rules);
    expect(bound("+14165550123")).to.equal(true);
    expect(bound("+12125550123")).to.equal(false);
  });
});

describe("a message at its turn", () => {
  for (const state of STATE_NAMES.filter((name) => name !== "waiting")) {
    it(`that is ${state} stays as it is`, () => {
      const message = messageIn(state, { trafficClass: "promotional" });
      expect(enterQuietHours(message, NIGHT, NIGERIA).message).to.equal(message);
    });
  }

  it("waits for the end of its quiet hours, without an end of its time", () => {
    const { message, events } = enterQuietHours(promotional(EVENING - 1), NIGHT, NIGERIA);
    expect(message).to.include({ status: "queued", phase: "quiet", quietUntilMs: MORNING });
    expect(message.dueAtMs).to.equal(undefined);
    expect(events).to.deep.equal([]);
  });

  it("fails with quiet_hours under the policy reject, and releases its hold", () => {
    const before = promotional(EVENING - 1, { rejectsInQuietHours: true });
    const { message, events } = enterQuietHours(before, NIGHT, NIGERIA);
    expect(message.status).to.equal("failed");
    expect(message.error?.code).to.equal("quiet_hours");
    expect(message.amount).to.equal(undefined);
    expect(events.map(({ previous }) => previous)).to.deep.equal(["queued"]);
  });

  it("waits, and never fails, while the rules are not known", () => {
    const before = promotional(EVENING - 1, { rejectsInQuietHours: true });
    const { message } = enterQuietHours(before, NOON, createUnknownQuietHours());
    expect(message.phase).to.equal("quiet");
    expect(leave(message, NOON + HOUR_MS).message.phase).to.equal("waiting");
  });
});

describe("a message whose quiet hours have ended", () => {
  const held = enterQuietHours(promotional(EVENING - HOUR_MS), NIGHT, NIGERIA).message;

  it("waits in its queue for the rest of its queue time, which counts open hours only", () => {
    const { message } = leave(held, MORNING);
    expect(message).to.include({ phase: "waiting", quietUntilMs: undefined });
    expect(message.dueAtMs).to.equal(MORNING + TIMEOUTS.queueMs - HOUR_MS);
    expect(message.queueUntilMs).to.equal(message.dueAtMs);
  });

  it("still waits when the clock was set back into the quiet hours", () => {
    expect(leave(held, MORNING - HOUR_MS).message).to.equal(held);
  });

  it("waits again when the clock was set back after its release, and does not expire", () => {
    const released = leave(held, MORNING).message;
    const again = enterQuietHours(released, MORNING - HOUR_MS + 10_000, NIGERIA).message;
    expect(again).to.include({ phase: "quiet", quietUntilMs: MORNING });
    expect(leave(again, MORNING).message.dueAtMs).to.equal(released.dueAtMs);
  });

  it("follows a rule that ends later or was removed", () => {
    const later = createQuietHours(parseQuietRules("NG promotional Africa/Lagos 20:00-10:00"));
    expect(leave(held, MORNING, RIGHTS, later).message.quietUntilMs).to.equal(
      MORNING + 2 * HOUR_MS,
    );
    expect(leave(held, NIGHT, RIGHTS, NO_QUIET_HOURS).message.phase).to.equal("waiting");
  });

  const failures = [
    ["its recipient has opted out", { recipientAllows: false }, "recipient_opted_out"],
    ["its account was suspended", { tenantMaySend: false }, "tenant_suspended"],
    ["its sender ID was taken away", { senderIsUsable: false }, "sender_id_not_approved"],
  ] as const;
  for (const [what, change, code] of failures) {
    it(`fails when, while it waited, ${what}`, () => {
      const { message, events } = leave(held, MORNING, { ...RIGHTS, ...change });
      expect(message.status).to.equal("failed");
      expect(message.error?.code).to.equal(code);
      expect(events).to.have.length(1);
    });
  }
});

describe("the queue time", () => {
  const subject = { to: "+2348031234567", trafficClass: "promotional" } as const;
  const table = [
    ["by day", NOON, 4, NOON + 4 * HOUR_MS],
    ["that is interrupted by a night", EVENING - HOUR_MS, 4, MORNING + 3 * HOUR_MS],
    ["that begins in the night", NIGHT, 4, MORNING + 4 * HOUR_MS],
    ["that ends with the day", EVENING - HOUR_MS, 1, EVENING],
    ["of two days", NOON, 20, NOON + 32 * HOUR_MS],
  ] as const;
  for (const [what, fromMs, hours, expected] of table) {
    it(`${what} counts open hours only`, () => {
      expect(openTimeEnd(subject, fromMs, hours * HOUR_MS, NIGERIA)).to.equal(expected);
    });
  }

  it("of a message that no carrier claimed over night ends in the morning's open hours", () => {
    const timeouts: Timeouts = { ...TIMEOUTS, queueMs: 4 * HOUR_MS };
    const end = (message: Message, nowMs: number) =>
      applyTimeout(message, nowMs, timeouts, RIGHTS, ALL_AVAILABLE, NIGERIA).message;
    const waits = end(promotional(EVENING - HOUR_MS), EVENING + 3 * HOUR_MS);
    expect(waits).to.include({ phase: "waiting", dueAtMs: MORNING + 3 * HOUR_MS });
    expect(end(waits, MORNING + 3 * HOUR_MS).error?.code).to.equal("queue_expired");
  });
});

describe("the span in which a carrier may submit a message", () => {
  const span = (nowMs: number, trafficClass: Message["trafficClass"] = "promotional") =>
    openSpan({ to: "+2348031234567", trafficClass }, nowMs, NIGERIA);

  it("is from the end of quiet hours to a second before the next ones", () => {
    expect(span(NOON)).to.deep.equal({ fromMs: MORNING, untilMs: at("28T19:00") - 1000 });
  });

  it("is empty in quiet hours, and absent without any", () => {
    expect(span(NIGHT)).to.deep.equal({ fromMs: MORNING, untilMs: MORNING });
    expect(span(NIGHT, "otp")).to.equal(undefined);
  });
});
