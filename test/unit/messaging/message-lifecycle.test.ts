import { expect } from "chai";
import fc from "fast-check";
import { roundRobin } from "../../../services/messaging/app/round-robin.ts";
import { cancelMessage } from "../../../services/messaging/domain/cancel.ts";
import type {
  AvailabilityOf,
  RouteState,
} from "../../../services/messaging/domain/choose-route.ts";
import type { Decision, Message } from "../../../services/messaging/domain/message.ts";
import { checkMessage } from "../../../services/messaging/domain/message-invariants.ts";
import { applyOutcome, type Outcome } from "../../../services/messaging/domain/outcome.ts";
import { reroute, toSent } from "../../../services/messaging/domain/queue-transitions.ts";
import { applyReceipt, type Receipt } from "../../../services/messaging/domain/receipt.ts";
import { recoverClaim } from "../../../services/messaging/domain/recover-claim.ts";
import { applyTimeout } from "../../../services/messaging/domain/timeouts.ts";
import {
  fromDocument,
  nextDocument,
  toDocument,
} from "../../../services/messaging/store/documents.ts";
import { AppError } from "../../../services/shared/core/errors.ts";
import {
  messageIn,
  NO_QUIET_HOURS,
  START_MS,
  STATE_NAMES,
  TIMEOUTS,
} from "../../support/messages.ts";

type Step = (message: Message, nowMs: number) => Decision;

/** The availability of a message's two routes, and whether they now have another connector. */
const anyAvailability = fc
  .tuple(fc.record({ rte_A: anyAvailabilityOfOne(), rte_B: anyAvailabilityOfOne() }), fc.boolean())
  .map<AvailabilityOf>(([availability, isMoved]) => ({ routeId, connectorId }) => ({
    state: availability[routeId as "rte_A" | "rte_B"],
    connectorId: isMoved ? `${connectorId}-2` : connectorId,
  }));

function anyAvailabilityOfOne() {
  return fc.constantFrom<RouteState>("available", "failing", "disabled", "removed");
}

/** Anything that can happen to a message, in any order, early, late, repeated or stale. */
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  fc.constant<Step>((message) => {
    if (message.phase !== "waiting") return { message, events: [] };
    const claim = { id: "claim-1", carrierId: "carrier-1", atMs: START_MS };
    return { message: { ...message, phase: "sending", claim }, events: [] };
  }),
  fc
    .tuple(
      fc.record<Outcome>({
        claimId: fc.constantFrom("claim-1", "claim-0"),
        kind: fc.constantFrom("accepted", "refused", "not_sent", "unknown", "partly_refused"),
        carrierCode: fc.constantFrom("", "0x45"),
        retryAtMs: fc.nat(),
        occurredAtMs: fc.integer({ min: START_MS - 1e6, max: START_MS + 1e9 }),
        errorCode: fc.constantFrom("", "no_route", "x"),
      }),
      anyAvailability,
    )
    .map<Step>(
      ([outcome, availabilityOf]) =>
        (message, nowMs) =>
          applyOutcome(message, outcome, nowMs, TIMEOUTS, availabilityOf),
    ),
  fc
    .record<Receipt>({
      segment: fc.integer({ min: 0, max: 4 }),
      state: fc.constantFrom("delivered", "undelivered", "acknowledged"),
      errorCode: fc.constantFrom("", "absent_subscriber"),
      carrierCode: fc.constant(""),
      occurredAtMs: fc.integer({ min: START_MS - 1e6, max: START_MS + 1e9 }),
    })
    .map<Step>((receipt) => (message, nowMs) => applyReceipt(message, receipt, nowMs, TIMEOUTS)),
  fc
    .boolean()
    .map<Step>(
      (wasWritten) => (message, nowMs) =>
        recoverClaim(
          message,
          { carrierId: "carrier-1", beforeMs: nowMs },
          wasWritten,
          nowMs,
          TIMEOUTS,
        ),
    ),
  fc.tuple(fc.boolean(), anyAvailability).map<Step>(
    ([senderIsUsable, availabilityOf]) =>
      (message, nowMs) =>
        applyTimeout(
          message,
          nowMs,
          TIMEOUTS,
          { tenantMaySend: true, senderIsUsable, recipientAllows: true },
          availabilityOf,
          NO_QUIET_HOURS,
        ),
  ),
  anyAvailability.map<Step>((availabilityOf) => (message) => reroute(message, availabilityOf)),
  fc.constant<Step>((message, nowMs) => {
    try {
      return cancelMessage(message, nowMs);
    } catch (error) {
      if (error instanceof AppError) return { message, events: [] };
      throw error;
    }
  }),
);

const anyLife = fc.record({
  start: fc.constantFrom("scheduled", "waiting" as const),
  segments: fc.integer({ min: 1, max: 3 }),
  steps: fc.array(fc.tuple(anyStep, fc.integer({ min: 0, max: 2e8 })), { maxLength: 30 }),
});

describe("the life of a message under random events", () => {
  it("breaks no invariant, and every announced status has exactly one event, in order", () => {
    fc.assert(
      fc.property(anyLife, ({ start, segments, steps }) => {
        let message = messageIn(start as "waiting", {
          segments,
          heldAmount: 50_000n * BigInt(segments),
        });
        let nowMs = START_MS;
        const announced: string[] = [];
        for (const [step, waitMs] of steps) {
          nowMs += waitMs;
          const decision = step(message, nowMs);
          announced.push(...decision.events.map((event) => event.message.status));
          message = decision.message;
          expect(checkMessage(message)).to.deep.equal([]);
        }
        const path = message.history.slice(1).map(({ status }) => status);
        expect(announced).to.deep.equal(path.filter((status) => status !== "queued"));
      }),
      { numRuns: 2000 },
    );
  });

  it("is stored and read back as it was, at every step", () => {
    fc.assert(
      fc.property(anyLife, ({ start, segments, steps }) => {
        let message = messageIn(start as "waiting", { segments });
        let nowMs = START_MS;
        for (const [step, waitMs] of steps) {
          nowMs += waitMs;
          const after = step(message, nowMs).message;
          const stored = nextDocument(toDocument(message), message, after);
          const expected = { ...after, revision: message.revision + 1 };
          expect(fromDocument(stored)).to.deep.equal(stripped(expected));
          expect(stored).to.deep.equal(toDocument(stripped(expected)));
          message = after;
        }
      }),
      { numRuns: 500 },
    );
  });

  it("a change leaves unknown fields as stored", () => {
    const message = messageIn("waiting");
    const stored = { ...toDocument(message), of_a_newer_version: { a: 1 } };
    const next = nextDocument(stored, message, cancelMessage(message, START_MS + 1).message);
    expect(next).to.have.property("status", "cancelled");
    expect(next).to.have.deep.property("of_a_newer_version", { a: 1 });
  });

  it("nor does it touch the steps and routes that it leaves alone", () => {
    const message = messageIn("sending");
    const document = toDocument(message);
    const stored = {
      ...document,
      history: document.history.map((step) => ({ ...step, by: "someone" })),
      routes: document.routes?.map((route) => ({ ...route, region: "west" })) ?? [],
    };
    const next = nextDocument(stored, message, toSent(message, START_MS + 30, TIMEOUTS).message);
    expect(next.history.map((step) => [step.status, "by" in step])).to.deep.equal([
      ["queued", true],
      ["sent", false],
    ]);
    expect(next.routes).to.deep.equal([stored.routes[message.routeAt]]);
  });

  for (const state of STATE_NAMES) {
    it(`a message that is ${state} is in a queue exactly while it waits or is being sent`, () => {
      const { queue } = toDocument(messageIn(state));
      const expected = { waiting: "alpha|1", sending: "alpha|sending|carrier-1" };
      expect(queue).to.equal((expected as Record<string, string>)[state]);
    });
  }
});

/** A message without what only matters while it is queued, which is not stored afterwards. */
function stripped(message: Message): Message {
  return message.status === "queued" ? message : { ...message, notBeforeMs: 0 };
}

describe("round robin", () => {
  it("takes one message of each queue in turn, and returns the queue served last", () => {
    const queues = [["a1", "a2", "a3"], ["b1"], ["c1", "c2"]];
    expect(roundRobin(queues, 5)).to.deep.equal({
      messages: ["a1", "b1", "c1", "a2", "c2"],
      last: 2,
    });
    expect(roundRobin(queues, 2)).to.deep.equal({ messages: ["a1", "b1"], last: 1 });
    expect(roundRobin(queues, 99).messages).to.have.length(6);
    expect(roundRobin([[], []], 5)).to.deep.equal({ messages: [], last: undefined });
  });
});
