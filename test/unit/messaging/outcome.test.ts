import { expect } from "chai";
import type { AvailabilityOf } from "../../../services/messaging/domain/choose-route.ts";
import type { Message, QueuePhase } from "../../../services/messaging/domain/message.ts";
import { checkMessage } from "../../../services/messaging/domain/message-invariants.ts";
import { applyOutcome, type Outcome } from "../../../services/messaging/domain/outcome.ts";
import { applyReceipt } from "../../../services/messaging/domain/receipt.ts";
import type { MessageStatus } from "../../../services/shared/core/message-status.ts";
import {
  ALL_AVAILABLE,
  availabilityBy,
  messageIn,
  START_MS,
  STATE_NAMES,
  type StateName,
  TIMEOUTS,
} from "../../support/messages.ts";

const NOW_MS = START_MS + 1000;

function outcome(kind: Outcome["kind"], overrides: Partial<Outcome> = {}): Outcome {
  return {
    claimId: "claim-1",
    kind,
    carrierCode: "",
    retryAtMs: 0,
    occurredAtMs: NOW_MS,
    errorCode: "",
    ...overrides,
  };
}

const apply = (message: Message, said: Outcome, availabilityOf: AvailabilityOf = ALL_AVAILABLE) =>
  applyOutcome(message, said, NOW_MS, TIMEOUTS, availabilityOf);

type End = readonly [MessageStatus, QueuePhase | undefined, readonly MessageStatus[]];

/** The effect of each outcome on a message being sent or in doubt: status, phase, events. */
const ENDS: Readonly<Record<Outcome["kind"], End>> = {
  accepted: ["sent", undefined, ["sent"]],
  refused: ["queued", "waiting", []],
  not_sent: ["queued", "waiting", []],
  unknown: ["queued", "unknown", []],
  partly_refused: ["undelivered", undefined, ["sent", "undelivered"]],
};
const KINDS = Object.keys(ENDS) as Outcome["kind"][];
const OPEN: readonly StateName[] = ["sending", "unknown"];

describe("outcomes of submits", () => {
  for (const state of STATE_NAMES) {
    for (const kind of KINDS) {
      if (OPEN.includes(state)) {
        const [status, phase, events] = ENDS[kind];
        it(`${state} + ${kind} → ${status}${phase === undefined ? "" : `, ${phase}`}`, () => {
          const after = apply(messageIn(state), outcome(kind));
          expect(after.isStale).to.equal(false);
          expect([after.message.status, after.message.phase]).to.deep.equal([status, phase]);
          expect(after.events.map(({ message }) => message.status)).to.deep.equal(events);
        });
      } else if (state !== "sent" || kind !== "partly_refused") {
        it(`${state} + ${kind} → unchanged`, () => {
          const message = messageIn(state);
          const after = apply(message, outcome(kind));
          expect(after.message).to.equal(message);
          expect(after.events).to.deep.equal([]);
        });
      }
    }
  }

  for (const kind of KINDS) {
    it(`${kind} under an older claim is stale and changes nothing`, () => {
      const message = messageIn("sending");
      const after = apply(message, outcome(kind, { claimId: "claim-0" }));
      expect(after).to.deep.equal({ message, events: [], isStale: true });
    });
  }

  it("a repeated acceptance is neither stale nor a change", () => {
    const sent = apply(messageIn("sending"), outcome("accepted")).message;
    expect(apply(sent, outcome("accepted"))).to.deep.equal({
      message: sent,
      events: [],
      isStale: false,
    });
  });

  it("accepted charges the carrying route's price per segment, never more than the hold", () => {
    const message = messageIn("sending", { segments: 3, heldAmount: 150_000n });
    const { message: sent } = apply(message, outcome("accepted"));
    expect(sent.unitPrice).to.equal(40_000n);
    expect(sent.amount).to.equal(120_000n);
    expect(sent.sentAtMs).to.equal(NOW_MS);
    expect(sent.dueAtMs).to.equal(NOW_MS + TIMEOUTS.receiptMs);
  });

  it("a refused message tries the next route with a new retry budget and the same end of its queue time", () => {
    const message = messageIn("sending", { attempts: 4, notBeforeMs: NOW_MS + 5 });
    const { message: next } = apply(message, outcome("refused", { carrierCode: "0x0B" }));
    expect(next).to.include({ routeAt: 1, attempts: 0, notBeforeMs: 0, carrierCode: "0x0B" });
    expect(next.claim).to.equal(undefined);
    expect(next.dueAtMs).to.equal(message.queueUntilMs);
  });

  it("refused by the second route carries on to the price of that route", () => {
    const second = { ...messageIn("sending"), routeAt: 1 };
    expect(apply(second, outcome("accepted")).message.amount).to.equal(50_000n);
  });

  const failures = [
    ["the last route refuses", { routeAt: 1 }, ALL_AVAILABLE],
    [
      "no further route is left",
      {},
      availabilityBy(({ routeId }) => (routeId === "rte_B" ? "removed" : "available")),
    ],
  ] as const;
  for (const [what, overrides, availabilityOf] of failures) {
    it(`a message has failed when ${what}`, () => {
      const message = messageIn("sending", overrides);
      const after = apply(message, outcome("refused"), availabilityOf);
      expect(after.message.status).to.equal("failed");
      expect(after.message.error?.code).to.equal("carrier_rejected");
      expect(after.message.amount).to.equal(undefined);
      expect(after.events.map(({ previous }) => previous)).to.deep.equal(["queued"]);
    });
  }

  const codes: readonly (readonly [string, string])[] = [
    ["carrier_unavailable", "carrier_unavailable"],
    ["no_route", "no_route"],
    ["absent_subscriber", "carrier_rejected"],
    ["nonsense", "carrier_rejected"],
  ];
  for (const [said, shown] of codes) {
    it(`a refusal that says ${said} fails with ${shown}`, () => {
      const message = messageIn("sending", { routeAt: 1 });
      const after = apply(message, outcome("refused", { errorCode: said }));
      expect(after.message.error?.code).to.equal(shown);
    });
  }

  it("a refusal that says dnd_blocked ends the message, also where another route is left", () => {
    const said = outcome("refused", { errorCode: "dnd_blocked", carrierCode: "0x420" });
    const { message } = apply(messageIn("sending"), said);
    expect(message).to.include({ status: "failed", amount: undefined, carrierCode: "0x420" });
    expect(message.error?.code).to.equal("dnd_blocked");
  });

  it("a part that is refused with dnd_blocked names the undelivered message so; the charge stays", () => {
    const said = outcome("partly_refused", { errorCode: "dnd_blocked" });
    const { message } = apply(messageIn("sending"), said);
    expect(message.error?.code).to.equal("dnd_blocked");
    expect(message).to.include({ status: "undelivered", amount: 40_000n });
  });

  const budgets = [
    ["the carrier's system failed", "carrier_unavailable", 1],
    ["it was throttled, or the link was down", "", 0],
  ] as const;
  for (const [what, errorCode, spent] of budgets) {
    it(`not_sent because ${what} keeps the route and spends ${spent} of the budget`, () => {
      const said = outcome("not_sent", { retryAtMs: NOW_MS + 500, errorCode });
      const after = apply(messageIn("sending", { attempts: 3 }), said);
      expect(after.message).to.include({ routeAt: 0, attempts: 3 + spent });
      expect(after.message.notBeforeMs).to.equal(NOW_MS + 500);
    });
  }

  for (const [what, aheadMs] of [
    ["behind", -30_000],
    ["ahead", 30_000],
  ] as const) {
    it(`a carrier whose clock is ${what} puts off for as long as it asks`, () => {
      const occurredAtMs = NOW_MS + aheadMs;
      const said = outcome("not_sent", { occurredAtMs, retryAtMs: occurredAtMs + 250 });
      expect(apply(messageIn("sending"), said).message.notBeforeMs).to.equal(NOW_MS + 250);
    });
  }

  for (const [retryAtMs, occurredAtMs, notBeforeMs] of [
    [0, NOW_MS, 0],
    [NOW_MS, NOW_MS, 0],
    [NOW_MS + 500, 0, NOW_MS + 500],
    [NOW_MS + 90_000, 0, NOW_MS + 60_000],
    [NOW_MS + 90_000, NOW_MS, NOW_MS + 60_000],
  ] as const) {
    it(`retry at ${retryAtMs}, reported at ${occurredAtMs}: not before ${notBeforeMs}`, () => {
      const said = outcome("not_sent", { retryAtMs, occurredAtMs });
      expect(apply(messageIn("sending"), said).message.notBeforeMs).to.equal(notBeforeMs);
    });
  }

  it("a later unknown may say that parts are missing, and does not postpone the end of the wait", () => {
    const message = messageIn("unknown");
    const { message: next } = apply(message, { ...outcome("unknown"), isIncomplete: true });
    expect(next.receipts.isIncomplete).to.equal(true);
    expect(next.dueAtMs).to.equal(message.dueAtMs);
  });

  it("a repeated unknown does not postpone the end of the wait", () => {
    const message = messageIn("unknown");
    expect(apply(message, outcome("unknown")).message).to.equal(message);
  });

  it("partly_refused keeps the charge", () => {
    const after = apply(messageIn("sending"), outcome("partly_refused"));
    expect(after.message.amount).to.equal(40_000n);
    expect(after.message.error?.code).to.equal("carrier_rejected");
  });

  const received = { segment: 1, errorCode: "", carrierCode: "", occurredAtMs: NOW_MS - 1 };
  const twoParts = () => messageIn("sending", { segments: 2, heldAmount: 100_000n });

  for (const kind of KINDS) {
    for (const state of ["delivered", "acknowledged"] as const) {
      const path = kind === "partly_refused" ? ["sent", "undelivered"] : ["sent"];
      it(`${kind} after a part was ${state}: ${path.join(", ")}; no other route sends it`, () => {
        const early = applyReceipt(twoParts(), { ...received, state }, NOW_MS, TIMEOUTS).message;
        expect([early.status, early.phase]).to.deep.equal(["queued", "sending"]);
        const after = apply(early, outcome(kind));
        expect(after.events.map(({ message }) => message.status)).to.deep.equal(path);
        expect(after.message.amount).to.equal(80_000n);
        let both = after.message;
        for (const segment of [1, 2]) {
          const said = { ...received, segment, state: "delivered" } as const;
          both = applyReceipt(both, said, NOW_MS, TIMEOUTS).message;
        }
        expect(both.status).to.equal("delivered");
        expect(checkMessage(both)).to.deep.equal([]);
      });
    }
  }

  it("partly_refused after a receipt made it sent: undelivered, charged no second time", () => {
    const interim = { ...received, segment: 0, state: "acknowledged" } as const;
    const early = applyReceipt(twoParts(), interim, NOW_MS, TIMEOUTS).message;
    expect(early.status).to.equal("sent");
    const said = outcome("partly_refused", { carrierCode: "ESME_RINVDSTADR" });
    const after = apply(early, said);
    expect(after.isStale).to.equal(false);
    expect(after.events.map(({ previous }) => previous)).to.deep.equal(["sent"]);
    expect(after.message).to.include({ status: "undelivered", carrierCode: "ESME_RINVDSTADR" });
    expect(after.message.error?.code).to.equal("carrier_rejected");
    expect([after.message.amount, after.message.sentAtMs, after.message.dueAtMs]).to.deep.equal([
      early.amount,
      early.sentAtMs,
      undefined,
    ]);
    expect(checkMessage(after.message)).to.deep.equal([]);
    expect(apply(after.message, said).message, "its repeat").to.equal(after.message);
  });

  it("an outcome from the future counts as now", () => {
    const said = outcome("accepted", { occurredAtMs: NOW_MS + 60_000 });
    expect(apply(messageIn("sending"), said).message.sentAtMs).to.equal(NOW_MS);
  });
});
