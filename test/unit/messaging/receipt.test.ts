import { expect } from "chai";
import type { Message } from "../../../services/messaging/domain/message.ts";
import { toUnknown } from "../../../services/messaging/domain/queue-transitions.ts";
import { applyReceipt, type Receipt } from "../../../services/messaging/domain/receipt.ts";
import { recoverClaim } from "../../../services/messaging/domain/recover-claim.ts";
import { applyTimeout } from "../../../services/messaging/domain/timeouts.ts";
import type { MessageStatus } from "../../../services/shared/core/message-status.ts";
import {
  ALL_AVAILABLE,
  messageIn,
  NO_QUIET_HOURS,
  RECEIPT_MS,
  receipt,
  START_MS,
  STATE_NAMES,
  type StateName,
  TIMEOUTS,
} from "../../support/messages.ts";

const NOW_MS = RECEIPT_MS;

const apply = (message: Message, said: Receipt) => applyReceipt(message, said, NOW_MS, TIMEOUTS);

function applyAll(message: Message, receipts: readonly Receipt[]): Message {
  return receipts.reduce((current, said) => apply(current, said).message, message);
}

const STATES = ["delivered", "undelivered", "acknowledged"] as const;
type Path = readonly MessageStatus[];

/** The statuses announced, in order, for each state and receipt; absent means no change. */
const PATHS: Readonly<
  Partial<Record<StateName, Readonly<Partial<Record<Receipt["state"], Path>>>>>
> = {
  waiting: {
    delivered: ["sent", "delivered"],
    undelivered: ["sent", "undelivered"],
    acknowledged: ["sent"],
  },
  quiet: {
    delivered: ["sent", "delivered"],
    undelivered: ["sent", "undelivered"],
    acknowledged: ["sent"],
  },
  sending: {
    delivered: ["sent", "delivered"],
    undelivered: ["sent", "undelivered"],
    acknowledged: ["sent"],
  },
  unknown: {
    delivered: ["sent", "delivered"],
    undelivered: ["sent", "undelivered"],
    acknowledged: ["sent"],
  },
  sent: { delivered: ["delivered"], undelivered: ["undelivered"] },
  undelivered: { delivered: ["delivered"] },
  expired: { delivered: ["delivered"], undelivered: ["undelivered"] },
};

describe("delivery receipts", () => {
  for (const state of STATE_NAMES) {
    for (const said of STATES) {
      const path = PATHS[state]?.[said] ?? [];
      it(`${state} + ${said} → ${path.length === 0 ? "no new status" : path.join(", ")}`, () => {
        const before = messageIn(state);
        const { message, events } = apply(before, receipt(said));
        expect(events.map((event) => event.message.status)).to.deep.equal(path);
        expect(message.status).to.equal(path.at(-1) ?? before.status);
        const added = message.history.slice(before.history.length);
        expect(added.map(({ status }) => status)).to.deep.equal(path);
      });
    }
  }

  for (const { received, guessed, counted } of [
    { received: [], guessed: 1, counted: 0b001 },
    { received: [1], guessed: 1, counted: 0b011 },
    { received: [1, 2], guessed: 1, counted: 0b111 },
    { received: [2], guessed: 1, counted: 0b011 },
    { received: [2, 3], guessed: 3, counted: 0b111 },
  ]) {
    it(`a receipt without a segment counts for one without a receipt: ${received} and perhaps ${guessed}`, () => {
      const said = received.map((segment) => receipt("delivered", { segment }));
      const guess = receipt("delivered", { segment: guessed, isSegmentGuessed: true });
      const message = applyAll({ ...messageIn("sent"), segments: 3 }, [...said, guess]);
      expect(message.receipts.delivered).to.equal(counted);
      expect(message.status).to.equal(counted === 0b111 ? "delivered" : "sent");
    });
  }

  it("a receipt for the rest of a message leaves parts failed that failed by their own receipts", () => {
    const whole = receipt("delivered", { segment: 0, isSegmentGuessed: true });
    const failed = receipt("undelivered", { segment: 1, isSegmentGuessed: true });
    const sent = { ...messageIn("sent"), segments: 3 };
    expect(applyAll(sent, [failed, whole]).status).to.equal("undelivered");
    const delivered = receipt("delivered", { segment: 1, isSegmentGuessed: true });
    expect(applyAll(sent, [delivered, whole]).status).to.equal("delivered");
  });

  const part = (segment: number, partKey: string, isSegmentGuessed = false) =>
    receipt("delivered", { segment, partKey, isSegmentGuessed });
  for (const { what, said, counted } of [
    {
      what: "a guess that comes again",
      said: [part(1, "a", true), part(1, "a", true)],
      counted: 0b01,
    },
    {
      what: "a guess that comes again by name",
      said: [part(1, "a", true), part(1, "a")],
      counted: 0b01,
    },
    {
      what: "one that was named, as a guess",
      said: [part(1, "a"), part(1, "a", true)],
      counted: 0b01,
    },
    { what: "two guesses at once", said: [part(1, "a", true), part(1, "b", true)], counted: 0b11 },
    {
      what: "a guess beside one that was named before it",
      said: [part(1, "a"), part(1, "b", true), part(1, "a"), part(1, "b", true)],
      counted: 0b11,
    },
    {
      what: "a wrong guess, when the segment's own receipt comes",
      said: [part(1, "b", true), part(1, "a"), part(2, "b")],
      counted: 0b11,
    },
    { what: "a segment that is reported twice", said: [part(1, "a"), part(1, "a")], counted: 0b01 },
    { what: "two ids of one segment", said: [part(1, "a"), part(1, "z")], counted: 0b01 },
  ]) {
    it(`counts once: ${what}`, () => {
      const two = { ...messageIn("sent"), segments: 2 };
      expect(applyAll(two, said).receipts.delivered).to.equal(counted);
      // In any company of repeats the end is the same.
      expect(applyAll(two, [...said, ...said]).receipts.delivered).to.equal(counted);
    });
  }

  for (const { what, parts, said, expected } of [
    { what: "the first of two", parts: 2, said: ["delivered"], expected: "sent" },
    { what: "both of two", parts: 2, said: ["delivered", "delivered"], expected: "delivered" },
    {
      what: "one of three, which could not be delivered",
      parts: 3,
      said: ["delivered", "delivered", "undelivered"],
      expected: "undelivered",
    },
    {
      what: "all of thirty",
      parts: 30,
      said: Array.from({ length: 30 }, () => "delivered" as const),
      expected: "delivered",
    },
  ] as const) {
    it(`a message of one segment that travels in more parts is ${expected} by ${what}`, () => {
      const receipts = said.map((state, at) =>
        receipt(state, { segment: at + 1, partKey: `k${at}`, parts }),
      );
      for (const order of [receipts, receipts.toReversed()]) {
        expect(applyAll(messageIn("sent"), order).status).to.equal(expected);
      }
    });
  }

  it("two segments in fewer parts are delivered by the receipts of those parts", () => {
    const both = [1, 2].map((segment) => receipt("delivered", { segment, parts: 2 }));
    const message = { ...messageIn("sent"), segments: 3 };
    expect(applyAll(message, both).status).to.equal("delivered");
  });

  for (const { what, said, path, delivered = 0 } of [
    {
      what: "the first part is delivered",
      said: [receipt("delivered")],
      path: [],
      delivered: 0b01,
    },
    {
      what: "its receipt comes again",
      said: [receipt("delivered"), receipt("delivered")],
      path: [],
      delivered: 0b01,
    },
    { what: "the first part is under way", said: [receipt("acknowledged")], path: [] },
    {
      what: "both parts are delivered",
      said: [receipt("delivered"), receipt("delivered", { segment: 2 })],
      path: ["sent", "delivered"],
      delivered: 0b11,
    },
    {
      what: "both are delivered, after one was counted among three",
      said: [
        receipt("delivered", { segment: 3, parts: 3 }),
        receipt("delivered", { parts: 2 }),
        receipt("delivered", { segment: 2, parts: 2 }),
      ],
      path: ["sent", "delivered"],
      delivered: 0b111,
    },
    { what: "a part fails", said: [receipt("undelivered")], path: ["sent", "undelivered"] },
    {
      what: "a part fails after another was delivered",
      said: [receipt("delivered"), receipt("undelivered", { segment: 2 })],
      path: ["sent", "undelivered"],
      delivered: 0b01,
    },
    {
      what: "the whole is under way",
      said: [receipt("acknowledged", { segment: 0 })],
      path: ["sent"],
    },
    {
      what: "the whole is delivered",
      said: [receipt("delivered", { segment: 0 })],
      path: ["sent", "delivered"],
      delivered: 0b11,
    },
  ] satisfies { what: string; said: Receipt[]; path: MessageStatus[]; delivered?: number }[]) {
    it(`two parts are still being submitted and ${what} → ${path.join(", ") || "no new status"}`, () => {
      const message = applyAll(messageIn("sending", { segments: 2 }), said);
      expect(message.history.slice(1).map(({ status }) => status)).to.deep.equal(path);
      expect(message.receipts.delivered).to.equal(delivered);
    });
  }

  for (const state of ["delivered", "acknowledged"] as const) {
    it(`a part that was ${state} while its message was being sent leaves no doubt`, () => {
      const sending = apply(messageIn("sending", { segments: 2 }), receipt(state)).message;
      const holder = { carrierId: "carrier-1", beforeMs: NOW_MS };
      for (const wasWritten of [true, false]) {
        const { message } = recoverClaim(sending, holder, wasWritten, NOW_MS, TIMEOUTS);
        expect(message.status).to.equal("sent");
      }
      // An older version did not look.
      const inDoubt = toUnknown(sending, NOW_MS, TIMEOUTS).message;
      const rights = { tenantMaySend: true, senderIsUsable: true, recipientAllows: true };
      const dueMs = NOW_MS + TIMEOUTS.unknownMs;
      const ended = applyTimeout(inDoubt, dueMs, TIMEOUTS, rights, ALL_AVAILABLE, NO_QUIET_HOURS);
      expect(ended.message.status).to.equal("sent");
    });
  }

  it("a guess takes no segment of a submit without a final receipt", () => {
    const first = receipt("acknowledged", { partKey: "a" });
    const sending = apply(messageIn("sending", { segments: 2 }), first).message;
    const holder = { carrierId: "carrier-1", beforeMs: NOW_MS };
    const { message } = recoverClaim(sending, holder, true, NOW_MS, TIMEOUTS);
    const both = [part(1, "b", true), part(1, "a", true)];
    for (const order of [both, both.toReversed()]) {
      expect(applyAll(message, order).status).to.equal("delivered");
    }
  });

  it("where all segments are named already, a guess takes one that has not ended", () => {
    const first = receipt("acknowledged", { partKey: "a" });
    const sending = apply(messageIn("sending", { segments: 2 }), first).message;
    const holder = { carrierId: "carrier-1", beforeMs: NOW_MS };
    const { message } = recoverClaim(sending, holder, true, NOW_MS, TIMEOUTS);
    expect(applyAll(message, [part(2, "b"), part(2, "c", true)]).status).to.equal("delivered");
  });

  it("receipts of the other parts do not deliver a message with a refused part", () => {
    const others = [1, 3].map((segment) => receipt("delivered", { segment, parts: 3 }));
    expect(applyAll(messageIn("undelivered"), others).status).to.equal("undelivered");
  });

  it("remembers no more submits than a bound", () => {
    const keys = Array.from({ length: 50 }, (_, at) => part(1, `k${at}`));
    const message = applyAll({ ...messageIn("sent"), segments: 3 }, keys);
    expect(message.receipts.parts).to.have.lengthOf.below(33);
  });

  it("remembers no submit of a message that has one", () => {
    const one = apply(messageIn("sent"), receipt("delivered", { segment: 0, partKey: "a" }));
    expect(one.message.receipts).to.deep.equal({ delivered: 1, failed: 0 });
  });

  it("each of two events carries the message as it was right after its step", () => {
    const { events } = apply(messageIn("unknown"), receipt("delivered"));
    expect(events.map(({ previous, message }) => [previous, message.status])).to.deep.equal([
      ["queued", "sent"],
      ["sent", "delivered"],
    ]);
    expect(events[0]?.message.completedAtMs).to.equal(undefined);
    expect(events[1]?.message.completedAtMs).to.equal(NOW_MS);
  });

  it("delivered clears the error that undelivered or expired had left", () => {
    for (const state of ["undelivered", "expired"] as const) {
      expect(apply(messageIn(state), receipt("delivered")).message.error).to.equal(undefined);
    }
  });

  it("no receipt changes the charge", () => {
    for (const said of STATES) {
      expect(apply(messageIn("sent"), receipt(said)).message.amount).to.equal(40_000n);
    }
  });

  it("all segments delivered make delivered, and none less", () => {
    const three = messageIn("sent", { segments: 3 });
    const two = applyAll(three, [receipt("delivered"), receipt("delivered", { segment: 3 })]);
    expect(two.status).to.equal("sent");
    expect(apply(two, receipt("delivered", { segment: 2 })).message.status).to.equal("delivered");
  });

  it("a segment that no message has is none of its segments", () => {
    for (const segment of [33, 65, -31]) {
      const message = applyAll(messageIn("sent"), [receipt("delivered", { segment })]);
      expect(message.status, `segment ${segment}`).to.equal("sent");
    }
  });

  it("one failed segment makes undelivered at once", () => {
    const message = applyAll(messageIn("sent", { segments: 3 }), [
      receipt("delivered"),
      receipt("undelivered", { segment: 2 }),
    ]);
    expect(message.status).to.equal("undelivered");
    expect(message.error?.code).to.equal("absent_subscriber");
  });

  it("a failed segment that is delivered late, with all others, makes delivered", () => {
    const message = applyAll(messageIn("sent", { segments: 2 }), [
      receipt("undelivered", { segment: 2 }),
      receipt("delivered", { segment: 1 }),
      receipt("delivered", { segment: 2 }),
    ]);
    expect(message.status).to.equal("delivered");
  });

  it("a failure after a segment was delivered does not undo it", () => {
    const message = applyAll(messageIn("sent", { segments: 2 }), [
      receipt("delivered", { segment: 1 }),
      receipt("undelivered", { segment: 1 }),
      receipt("delivered", { segment: 2 }),
    ]);
    expect(message.status).to.equal("delivered");
  });

  it("one receipt for the whole message counts for all its segments", () => {
    const message = messageIn("sent", { segments: 10 });
    expect(apply(message, receipt("delivered", { segment: 0 })).message.status).to.equal(
      "delivered",
    );
    expect(apply(message, receipt("undelivered", { segment: 0 })).message.status).to.equal(
      "undelivered",
    );
  });

  it("a receipt for a segment that does not exist changes nothing", () => {
    const message = messageIn("sent", { segments: 2 });
    expect(apply(message, receipt("delivered", { segment: 7 })).message).to.equal(message);
  });

  it("the same receipt again changes nothing", () => {
    for (const said of ["delivered", "undelivered"] as const) {
      const once = apply(messageIn("sent"), receipt(said)).message;
      expect(apply(once, receipt(said)).message).to.equal(once);
    }
  });

  it("a reason we do not know is shown as unknown", () => {
    const said = receipt("undelivered", { errorCode: "flux" });
    expect(apply(messageIn("sent"), said).message.error?.code).to.equal("unknown");
  });

  it("an instant before the message was sent, or in the future, counts as now", () => {
    for (const occurredAtMs of [START_MS - 1, NOW_MS + 1, 0]) {
      const said = receipt("delivered", { occurredAtMs });
      expect(apply(messageIn("sent"), said).message.completedAtMs).to.equal(NOW_MS);
    }
  });

  it("the body is removed at the final status when the tenant has redact_bodies", () => {
    const { message, events } = apply(messageIn("sending", { redact: true }), receipt("delivered"));
    expect(message.body).to.equal("");
    expect(events.map((event) => event.message.body)).to.deep.equal(["Hello", ""]);
  });
});
