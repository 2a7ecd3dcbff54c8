import { expect } from "chai";
import { cancelMessage, cancelWithCampaign } from "../../../services/messaging/domain/cancel.ts";
import type {
  AvailabilityOf,
  RouteState,
} from "../../../services/messaging/domain/choose-route.ts";
import { currentRoute, type Message } from "../../../services/messaging/domain/message.ts";
import { queueOf, reroute } from "../../../services/messaging/domain/queue-transitions.ts";
import { recoverClaim } from "../../../services/messaging/domain/recover-claim.ts";
import type { SendingRights } from "../../../services/messaging/domain/sending-rights.ts";
import { applyTimeout } from "../../../services/messaging/domain/timeouts.ts";
import { AppError } from "../../../services/shared/core/errors.ts";
import type { MessageStatus } from "../../../services/shared/core/message-status.ts";
import {
  ALL_AVAILABLE,
  availabilityBy,
  messageIn,
  NO_QUIET_HOURS,
  START_MS,
  STATE_NAMES,
  type StateName,
  TIMEOUTS,
} from "../../support/messages.ts";

const NOW_MS = START_MS + 400_000_000;
const ALL_RIGHTS: SendingRights = {
  tenantMaySend: true,
  senderIsUsable: true,
  recipientAllows: true,
};

const due = (
  message: Message,
  nowMs = NOW_MS,
  rights = ALL_RIGHTS,
  availabilityOf: AvailabilityOf = ALL_AVAILABLE,
) => applyTimeout(message, nowMs, TIMEOUTS, rights, availabilityOf, NO_QUIET_HOURS);

describe("cancelling", () => {
  const cancellable: readonly StateName[] = ["scheduled", "waiting", "quiet"];
  for (const state of STATE_NAMES) {
    if (cancellable.includes(state)) {
      it(`${state} becomes cancelled, with one event`, () => {
        const before = messageIn(state);
        const { message, events } = cancelMessage(before, NOW_MS);
        expect(message).to.include({ status: "cancelled", phase: undefined, dueAtMs: undefined });
        expect(message.error?.code).to.equal("cancelled");
        expect(events.map(({ previous }) => previous)).to.deep.equal([before.status]);
      });
      it(`a campaign's message that is ${state} is cancelled with its campaign, not alone`, () => {
        const message = messageIn(state, { source: "campaign", campaignId: "cmp_1" });
        expect(codeOf(() => cancelMessage(message, NOW_MS))).to.equal("invalid_state_transition");
        expect(cancelWithCampaign(message, NOW_MS).message.status).to.equal("cancelled");
      });
    } else if (state === "cancelled") {
      it("cancelled stays as it is", () => {
        const message = messageIn(state);
        expect(cancelMessage(message, NOW_MS)).to.deep.equal({ message, events: [] });
        const ofCampaign = messageIn(state, { source: "campaign", campaignId: "cmp_1" });
        expect(cancelMessage(ofCampaign, NOW_MS).message).to.equal(ofCampaign);
      });
    } else {
      it(`${state} cannot be cancelled`, () => {
        const message = messageIn(state);
        expect(codeOf(() => cancelMessage(message, NOW_MS))).to.equal("invalid_state_transition");
        const ofCampaign = messageIn(state, { source: "campaign", campaignId: "cmp_1" });
        expect(cancelWithCampaign(ofCampaign, NOW_MS).message).to.equal(ofCampaign);
      });
    }
  }

  it("a campaign's cancel leaves other messages alone", () => {
    const message = messageIn("waiting");
    expect(cancelWithCampaign(message, NOW_MS).message).to.equal(message);
  });

  it("a campaign's cancel includes every message with its id, from any source", () => {
    const message = messageIn("waiting", { source: "test_send", campaignId: "cmp_1" });
    expect(cancelWithCampaign(message, NOW_MS).message.status).to.equal("cancelled");
  });
});

describe("the end of each state's time", () => {
  /** Status and error code at the end of the time; absent means that time alone changes nothing. */
  const ends: Readonly<Partial<Record<StateName, readonly [MessageStatus, string | undefined]>>> = {
    scheduled: ["queued", undefined],
    waiting: ["failed", "queue_expired"],
    unknown: ["failed", "submission_unknown"],
    sent: ["expired", "no_receipt"],
  };
  for (const state of STATE_NAMES) {
    const end = ends[state];
    it(`${state} → ${end?.[0] ?? "unchanged"}`, () => {
      const before = messageIn(state);
      const { message } = due(before);
      expect(message.status).to.equal(end?.[0] ?? before.status);
      expect(message.error?.code).to.equal(end === undefined ? before.error?.code : end[1]);
    });
    it(`${state} stays while its time has not come`, () => {
      const before = messageIn(state);
      const nowMs = (before.dueAtMs ?? NOW_MS) - 1;
      expect(due(before, nowMs).message).to.equal(before);
    });
  }

  it("a message that a live carrier holds is checked again later", () => {
    const { message } = due(messageIn("sending"));
    expect(message).to.include({ status: "queued", phase: "sending" });
    expect(message.dueAtMs).to.be.greaterThan(NOW_MS);
  });

  it("a due scheduled message waits at its first route that is well, for the whole queue time", () => {
    const before = messageIn("scheduled");
    const onlySecond = availabilityBy(({ routeId }) =>
      routeId === "rte_B" ? "available" : "failing",
    );
    const { message, events } = due(before, NOW_MS, ALL_RIGHTS, onlySecond);
    expect(message.phase).to.equal("waiting");
    expect(currentRoute(message)?.routeId).to.equal("rte_B");
    expect(message.dueAtMs).to.equal(NOW_MS + TIMEOUTS.queueMs);
    expect(message.queueUntilMs).to.equal(NOW_MS + TIMEOUTS.queueMs);
    expect(events).to.deep.equal([]);
  });

  it("a due scheduled message takes the present connector of its route, at the frozen price", () => {
    const before = messageIn("scheduled");
    const { message } = due(before, NOW_MS, ALL_RIGHTS, () => ({
      state: "available",
      connectorId: "gamma",
    }));
    expect(message).to.include({ status: "queued", phase: "waiting" });
    expect(currentRoute(message)).to.deep.equal({ ...before.routes[0], connectorId: "gamma" });
    expect(queueOf(message)).to.equal("gamma|1");
  });

  it("a due scheduled message whose routes are disabled waits without a connector, within its queue time", () => {
    const before = messageIn("scheduled");
    const closed = availabilityBy(({ routeId }) => (routeId === "rte_A" ? "removed" : "disabled"));
    const { message, events } = due(before, NOW_MS, ALL_RIGHTS, closed);
    expect(message).to.include({ status: "queued", phase: "waiting" });
    expect(currentRoute(message)).to.deep.equal({ ...before.routes[1], connectorId: "" });
    expect(events).to.deep.equal([]);
    expect(reroute(message, closed).message).to.equal(message);
    const open = { state: "available", connectorId: "beta" } as const;
    const moved = reroute(message, (route, trafficClass) =>
      route.routeId === "rte_B" ? open : closed(route, trafficClass),
    );
    expect(currentRoute(moved.message)).to.deep.equal(before.routes[1]);
    const end = due(message, NOW_MS + TIMEOUTS.queueMs, ALL_RIGHTS, closed).message;
    expect(end.error?.code).to.equal("queue_expired");
  });

  const refusals: readonly (readonly [string, SendingRights, RouteState])[] = [
    [
      "tenant_suspended",
      { ...ALL_RIGHTS, tenantMaySend: false, senderIsUsable: false },
      "available",
    ],
    ["sender_id_not_approved", { ...ALL_RIGHTS, senderIsUsable: false }, "available"],
    ["recipient_opted_out", { ...ALL_RIGHTS, recipientAllows: false }, "available"],
    ["no_route", ALL_RIGHTS, "removed"],
  ];
  for (const [code, rights, stand] of refusals) {
    it(`a due scheduled message fails with ${code}, with an event`, () => {
      const { message, events } = due(
        messageIn("scheduled"),
        NOW_MS,
        rights,
        availabilityBy(() => stand),
      );
      expect(message.status).to.equal("failed");
      expect(message.error?.code).to.equal(code);
      expect(events.map(({ previous }) => previous)).to.deep.equal(["scheduled"]);
    });
  }
});

describe("claims of a carrier that died", () => {
  const holder = { carrierId: "carrier-1", beforeMs: NOW_MS };
  const recover = (message: Message, wasWritten: boolean, by = holder) =>
    recoverClaim(message, by, wasWritten, NOW_MS, TIMEOUTS).message;

  it("a message that was never written waits again, with the same end of its queue time", () => {
    const before = messageIn("sending");
    const message = recover(before, false);
    expect(message).to.include({ phase: "waiting", claim: undefined });
    expect(message.dueAtMs).to.equal(before.queueUntilMs);
  });

  it("a message that may have been written is in doubt, and keeps its claim for a late response", () => {
    const message = recover(messageIn("sending"), true);
    expect(message).to.include({ phase: "unknown", dueAtMs: NOW_MS + TIMEOUTS.unknownMs });
    expect(message.claim?.id).to.equal("claim-1");
  });

  it("leaves another carrier's claims and newer claims alone", () => {
    const message = messageIn("sending");
    for (const by of [
      { ...holder, carrierId: "carrier-2" },
      { ...holder, beforeMs: START_MS },
    ]) {
      expect(recover(message, false, by)).to.equal(message);
      expect(recover(message, true, by)).to.equal(message);
    }
  });

  for (const state of STATE_NAMES.filter((name) => name !== "sending")) {
    it(`leaves a message that is ${state} alone`, () => {
      const message = messageIn(state);
      expect(recover(message, false)).to.equal(message);
      expect(recover(message, true)).to.equal(message);
    });
  }
});

function codeOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof AppError) return error.code;
    throw error;
  }
  return "no error";
}
