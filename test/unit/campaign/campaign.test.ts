import { expect } from "chai";
import {
  type Action,
  type Campaign,
  createCampaign,
  isFinished,
  transition,
} from "../../../services/campaign/domain/campaign.ts";
import { EMPTY_PROGRESS } from "../../../services/campaign/domain/progress.ts";
import type { CampaignStatus } from "../../../services/shared/core/campaign-status.ts";
import { AppError } from "../../../services/shared/core/errors.ts";

const NOW = 1_000_000;

/** A campaign of any state. */
function campaignOf(status: CampaignStatus, changes: Partial<Campaign> = {}): Campaign {
  const made = createCampaign({
    ...{ id: "cmp_1", tenantId: "ten_1", mode: "live", currency: "NGN", nowMs: 0 },
    content: {
      ...{ name: "Spring", from: "Acme", body: "Hello", sendAtMs: undefined },
      ...{ ratePerSecond: undefined, budget: undefined, quietHours: undefined },
      clientReference: undefined,
    },
  });
  const started = status === "draft" || status === "scheduled" ? undefined : 1;
  const pauseReason = status === "paused" ? "customer" : undefined;
  return { ...made, status, startedAtMs: started, pauseReason, ...changes };
}

const scheduledFor = (sendAtMs: number): Partial<Campaign> => ({
  content: { ...campaignOf("draft").content, sendAtMs },
});

const ACTIONS: Readonly<Record<string, Action>> = {
  start: { kind: "start" },
  pause: { kind: "pause", reason: "customer" },
  resume: { kind: "resume" },
  cancel: { kind: "cancel" },
};

/** The new state and its event; "same" for a repeat, "no" for `invalid_state_transition`. */
function resultOf(campaign: Campaign, action: Action): string {
  try {
    const done = transition(campaign, action, NOW);
    return done === undefined ? "same" : `${done.campaign.status} ${done.event ?? "-"}`;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return error.code === "invalid_state_transition" ? "no" : error.code;
  }
}

const TABLE: Record<CampaignStatus, Record<string, string>> = {
  draft: { start: "running started", pause: "no", resume: "no", cancel: "cancelled cancelled" },
  scheduled: {
    ...{ start: "running started", pause: "paused paused" },
    ...{ resume: "no", cancel: "cancelled cancelled" },
  },
  running: { start: "same", pause: "paused paused", resume: "same", cancel: "cancelled cancelled" },
  paused: { start: "no", pause: "same", resume: "running resumed", cancel: "cancelled cancelled" },
  completed: { start: "no", pause: "no", resume: "no", cancel: "no" },
  cancelled: { start: "no", pause: "no", resume: "no", cancel: "same" },
  failed: { start: "no", pause: "no", resume: "no", cancel: "no" },
};

describe("the states of a campaign", () => {
  for (const [status, actions] of Object.entries(TABLE)) {
    for (const [name, expected] of Object.entries(actions)) {
      it(`${name} of a ${status} campaign: ${expected}`, () => {
        const action = ACTIONS[name] as Action;
        expect(resultOf(campaignOf(status as CampaignStatus), action)).to.equal(expected);
      });
    }
  }

  it("wait for their time, and start without an event until then", () => {
    const draft = campaignOf("draft", scheduledFor(NOW + 1));
    expect(resultOf(draft, { kind: "start" })).to.equal("scheduled -");
    const scheduled = campaignOf("scheduled", scheduledFor(NOW + 1));
    expect(resultOf(scheduled, { kind: "start" })).to.equal("same");
    expect(resultOf(campaignOf("scheduled", scheduledFor(NOW)), { kind: "start" })).to.equal(
      "running started",
    );
  });

  it("go back to the schedule when they are resumed before their time", () => {
    const paused = { startedAtMs: undefined, ...scheduledFor(NOW + 1) };
    expect(resultOf(campaignOf("paused", paused), { kind: "resume" })).to.equal(
      "scheduled resumed",
    );
  });

  it("let the customer take over a pause of the service, which takes back queued messages", () => {
    const paused = campaignOf("paused", { pauseReason: "insufficient_balance" });
    const done = transition(paused, { kind: "pause", reason: "customer" }, NOW);
    expect(done?.campaign).to.include({ pauseReason: "customer", takesBack: true });
    expect(done?.event).to.equal(undefined);
  });

  it("take back queued messages at a customer's pause and at a cancel, not at the service's pause", () => {
    const running = campaignOf("running");
    const takesBack = (action: Action) => transition(running, action, NOW)?.campaign.takesBack;
    expect(takesBack({ kind: "pause", reason: "customer" })).to.equal(true);
    expect(takesBack({ kind: "pause", reason: "budget_reached" })).to.equal(false);
    expect(takesBack({ kind: "cancel" })).to.equal(true);
  });

  it("are finished when nothing waits, is queued or is being fed", () => {
    expect(isFinished(campaignOf("running"))).to.equal(true);
    expect(isFinished(campaignOf("running", { openChunk: 1 }))).to.equal(false);
    for (const status of ["waiting", "queued"] as const) {
      const progress = { ...EMPTY_PROGRESS, [status]: 1 };
      expect(isFinished(campaignOf("running", { progress })), status).to.equal(false);
    }
    expect(isFinished(campaignOf("paused"))).to.equal(false);
  });
});
