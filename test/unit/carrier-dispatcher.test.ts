import { expect } from "chai";
import { createBind } from "../../services/carrier/bind.ts";
import { createDispatcher } from "../../services/carrier/dispatcher.ts";
import type { WrittenEntry } from "../../services/carrier/domain/journal-lines.ts";
import type { ClaimedMessage, PartOutcome } from "../../services/carrier/domain/message.ts";
import type { Link, LinkStatus, Part } from "../../services/carrier/links/link.ts";
import type { Settlement } from "../../services/carrier/outcomes.ts";
import { createRecentSubmissions } from "../../services/carrier/recent-submissions.ts";
import { createManualClock } from "../../services/shared/core/clock.ts";
import { createLogger } from "../../services/shared/io/log.ts";
import { claimed } from "../support/carrier-messages.ts";
import { eventually } from "../support/poll.ts";

/** A link whose answers the test gives, part by part. */
function manualLink(window: number, isScripted = false) {
  const submits: { part: Part; answer(outcome: PartOutcome): void }[] = [];
  let status: LinkStatus = "bound";
  const link: Link = {
    get status() {
      return status;
    },
    lastError: "",
    window,
    isScripted,
    inFlight: 0,
    start: () => undefined,
    prepare: ({ messageId, segments, body }) => {
      if (body === "unfit") throw new Error("cannot be put on this wire");
      return Array.from({ length: segments }, (_, index) => ({ messageId, index, payload: null }));
    },
    submit: (part) =>
      new Promise((resolve) => {
        submits.push({ part, answer: resolve });
      }),
    keyOf: (id) => id,
    close: () => Promise.resolve(),
  };
  return {
    link,
    submits,
    setStatus(next: LinkStatus) {
      status = next;
    },
  };
}

const log = createLogger("test", "silent");

function setUp(window = 10, hasSingleReceipt = false, isScripted = false) {
  const clock = createManualClock(1_000_000);
  const wire = manualLink(window, isScripted);
  const settled: Settlement[] = [];
  const kept: string[][] = [];
  const journaled: WrittenEntry[] = [];
  const recent = createRecentSubmissions(100);
  const dispatcher = createDispatcher({
    connectorId: "smsc",
    hasSingleReceipt,
    journal: { noteWritten: (entries) => void journaled.push(...entries) },
    outcomes: {
      report: (settlement) => void settled.push(settlement),
      keep: (submissions) => void kept.push(submissions.map(({ key }) => key)),
    },
    recent,
    clock,
    log,
    onRoom: () => undefined,
  });
  dispatcher.setBinds([createBind(0, wire.link, clock, log)]);
  return { clock, ...wire, settled, kept, journaled, recent, dispatcher };
}

const many = (count: number, fields: Partial<ClaimedMessage> = {}) =>
  Array.from({ length: count }, (_, at) => claimed({ messageId: `msg_${at}`, ...fields }));
const accept = (id: string): PartOutcome => ({ kind: "accepted", carrierMessageId: id });

describe("the dispatcher of a connector", () => {
  it("never has more unanswered than the window, and keeps it full", async () => {
    const { dispatcher, submits, settled } = setUp(3);
    dispatcher.add(many(5));
    expect(submits.length).to.equal(3);
    expect(dispatcher.waiting).to.equal(2);
    submits[0]?.answer(accept("a"));
    await eventually(() => submits.length === 4);
    expect(settled.map(({ outcome }) => outcome.kind)).to.deep.equal(["accepted"]);
    expect(settled[0]?.submissions[0]).to.include({ key: "a", messageId: "msg_0", segment: 0 });
  });

  it("sends the other parts only when the first was taken, and reports one outcome for all", async () => {
    const { dispatcher, submits, settled } = setUp();
    dispatcher.add(many(1, { segments: 3 }));
    expect(submits.length).to.equal(1);
    submits[0]?.answer(accept("a"));
    await eventually(() => submits.length === 3);
    submits[2]?.answer(accept("c"));
    submits[1]?.answer(accept("b"));
    await eventually(() => settled.length === 1);
    expect(settled[0]?.outcome.kind).to.equal("accepted");
    const segments = settled[0]?.submissions.map(({ key, segment }) => `${key}${segment}`).sort();
    expect(segments).to.deep.equal(["a1", "b2", "c3"]);
  });

  it("a part put off is submitted again by itself; the parts that were taken never are", async () => {
    const { dispatcher, submits, settled, kept } = setUp();
    dispatcher.add(many(1, { segments: 2 }));
    submits[0]?.answer(accept("a"));
    await eventually(() => submits.length === 2);
    expect(kept).to.deep.equal([]);
    submits[1]?.answer({ kind: "refused", code: "ESME_RSYSERR", disposition: "temporary" });
    await eventually(() => submits.length === 3);
    expect(kept, "a receipt of the first may come long before the outcome").to.deep.equal([["a"]]);
    expect(submits[2]?.part.index).to.equal(1);
    submits[2]?.answer(accept("b"));
    await eventually(() => settled.length === 1);
    expect(settled[0]?.outcome.kind).to.equal("accepted");
  });

  it("a first part that was not taken gives the whole message back, and no part follows", async () => {
    const { dispatcher, submits, settled } = setUp();
    dispatcher.add(many(1, { segments: 3 }));
    submits[0]?.answer({ kind: "not_sent", code: "closed" });
    await eventually(() => settled.length === 1);
    expect(settled[0]?.outcome.kind).to.equal("not_sent");
    expect(submits.length).to.equal(1);
  });

  it("a submit without an answer is kept by its parties and is never repeated", async () => {
    const { dispatcher, submits, settled } = setUp();
    dispatcher.add(many(1));
    submits[0]?.answer({ kind: "unknown", code: "timeout" });
    await eventually(() => settled.length === 1);
    expect(settled[0]?.outcome.kind).to.equal("unknown");
    expect(settled[0]?.unknowns[0]).to.include({ to: "2348031234567", from: "demo", segment: 0 });
    dispatcher.pump();
    expect(submits.length).to.equal(1);
  });

  it("a late answer settles what was in doubt, under the same claim", async () => {
    const { dispatcher, submits, settled } = setUp();
    dispatcher.add(many(1));
    submits[0]?.answer({ kind: "unknown", code: "timeout" });
    await eventually(() => settled.length === 1);
    dispatcher.lateAnswer("msg_0", 0, accept("late"));
    expect(settled[1]?.outcome).to.include({ kind: "accepted", claimId: "claim-1" });
    expect(settled[1]?.submissions[0]?.key).to.equal("late");
    expect(settled[1]?.resolved.length).to.equal(1);
    dispatcher.lateAnswer("msg_0", 0, accept("later"));
    expect(settled.length).to.equal(2);
  });

  it("an answer that is read when the connector's binds are given up already settles it, too", async () => {
    const { dispatcher, submits, settled } = setUp();
    dispatcher.add(many(1));
    submits[0]?.answer({ kind: "unknown", code: "timeout" });
    await eventually(() => settled.length === 1);
    dispatcher.setBinds([]);
    dispatcher.lateAnswer("msg_0", 0, accept("late"));
    await eventually(() => settled.length === 2);
    expect(settled[1]?.submissions[0]?.key).to.equal("late");
  });

  it("late answers to several parts take all of them out of doubt, but those that have no id", async () => {
    const { dispatcher, submits, settled } = setUp();
    dispatcher.add(many(1, { segments: 4 }));
    submits[0]?.answer(accept("a"));
    await eventually(() => submits.length === 4);
    submits[1]?.answer({ kind: "unknown", code: "timeout" });
    submits[2]?.answer({ kind: "unknown", code: "timeout" });
    submits[3]?.answer(accept(""));
    await eventually(() => settled.length === 1);
    expect(settled[0]?.unknowns.map(({ segment }) => segment)).to.deep.equal([2, 3, 4]);
    dispatcher.lateAnswer("msg_0", 1, accept("b"));
    dispatcher.lateAnswer("msg_0", 2, accept("c"));
    expect(settled[1]?.outcome.kind).to.equal("accepted");
    expect(settled[1]?.resolved.map(({ segment }) => segment)).to.deep.equal([2, 3]);
  });

  it("one taken late without an id is kept as taken", async () => {
    const { dispatcher, submits, settled } = setUp();
    dispatcher.add(many(1));
    submits[0]?.answer({ kind: "unknown", code: "timeout" });
    await eventually(() => settled.length === 1);
    dispatcher.lateAnswer("msg_0", 0, accept(""));
    expect(settled[1]?.outcome.kind).to.equal("accepted");
    expect(settled[1]?.unknowns.map(({ isTaken }) => isTaken)).to.deep.equal([true]);
    expect(settled[1]?.resolved).to.deep.equal([]);
  });

  it("a first part taken late ends the message as taken in part: the others were never submitted", async () => {
    const { dispatcher, submits, settled } = setUp();
    dispatcher.add(many(1, { segments: 3 }));
    submits[0]?.answer({ kind: "unknown", code: "timeout" });
    await eventually(() => settled.length === 1);
    dispatcher.lateAnswer("msg_0", 0, accept("late"));
    expect(settled[1]?.outcome.kind).to.equal("partly_refused");
    expect(settled[1]?.submissions.map(({ key }) => key)).to.deep.equal(["late"]);
    expect(settled[1]?.resolved.map(({ segment }) => segment)).to.deep.equal([1]);
    expect(submits.length).to.equal(1);
  });

  it("a late answer to one part counts while another one is still out", async () => {
    const { dispatcher, submits, settled } = setUp();
    dispatcher.add(many(1, { segments: 3 }));
    submits[0]?.answer(accept("a"));
    await eventually(() => submits.length === 3);
    submits[1]?.answer({ kind: "unknown", code: "timeout" });
    await new Promise(setImmediate);
    dispatcher.lateAnswer("msg_0", 1, accept("b"));
    expect(settled.length).to.equal(0);
    submits[2]?.answer(accept("c"));
    await eventually(() => settled.length === 1);
    expect(settled[0]?.outcome.kind).to.equal("accepted");
    expect(settled[0]?.submissions.length).to.equal(3);
  });

  it("a part refused for good after one was taken ends the message although another is in doubt", async () => {
    const { dispatcher, submits, settled } = setUp();
    dispatcher.add(many(1, { segments: 3 }));
    submits[0]?.answer(accept("a"));
    await eventually(() => submits.length === 3);
    submits[1]?.answer({ kind: "unknown", code: "timeout" });
    submits[2]?.answer({ kind: "refused", code: "ESME_RINVDSTADR", disposition: "permanent" });
    await eventually(() => settled.length === 1);
    expect(settled[0]?.outcome.kind).to.equal("partly_refused");
    expect(settled[0]?.unknowns.map(({ segment }) => segment)).to.deep.equal([2]);
  });

  it("a journal that cannot be written rests the bind instead of going round", async () => {
    const { clock, dispatcher, submits, settled } = setUp();
    dispatcher.add(many(1));
    submits[0]?.answer({ kind: "not_sent", code: "journal_failed" });
    await eventually(() => settled.length === 1);
    expect(settled[0]?.outcome.kind).to.equal("not_sent");
    expect(dispatcher.room).to.equal(0);
    clock.advance(1000);
    expect(dispatcher.room).to.equal(10);
  });

  it("a throttled bind pauses, and what waits goes on afterwards", async () => {
    const { clock, dispatcher, submits, settled } = setUp(4);
    dispatcher.add(many(6));
    submits[0]?.answer({ kind: "refused", code: "ESME_RTHROTTLED", disposition: "throttled" });
    await eventually(() => settled.length === 1);
    for (const submit of submits.slice(1, 4)) submit.answer(accept("x"));
    await eventually(() => settled.length === 4);
    expect(submits.length, "nothing goes out during the pause").to.equal(4);
    clock.advance(150);
    dispatcher.pump();
    expect(submits.length, "then half the window").to.equal(6);
  });

  it("what recipients script says nothing of a link's pace, and keeps no other back", async () => {
    const { dispatcher, submits, settled } = setUp(4, false, true);
    dispatcher.add(many(6));
    submits[0]?.answer({ kind: "refused", code: "queue_full", disposition: "throttled" });
    submits[1]?.answer({ kind: "unknown", code: "timeout" });
    await eventually(() => settled.length === 2);
    expect(submits.length).to.equal(6);
  });

  it("the rest of a message is not given up while its carrier only throttles it", async () => {
    const { clock, dispatcher, submits, settled } = setUp();
    dispatcher.add(many(1, { segments: 2 }));
    submits[0]?.answer(accept("a"));
    await eventually(() => submits.length === 2);
    clock.advance(300_000);
    dispatcher.expire(false);
    submits[1]?.answer({ kind: "refused", code: "ESME_RTHROTTLED", disposition: "throttled" });
    await new Promise(setImmediate);
    clock.advance(6000);
    await eventually(() => {
      dispatcher.pump();
      return submits.length === 3;
    });
    submits[2]?.answer(accept("b"));
    await eventually(() => settled.length === 1);
    expect(settled[0]?.outcome.kind).to.equal("accepted");
  });

  it("gives back what was never started, when told to", async () => {
    const { dispatcher, submits, settled } = setUp(1);
    dispatcher.add(many(3));
    dispatcher.giveBackWaiting("paused");
    expect(settled.map(({ outcome }) => `${outcome.messageId} ${outcome.kind}`)).to.deep.equal([
      "msg_1 not_sent",
      "msg_2 not_sent",
    ]);
    expect(submits.length).to.equal(1);
  });

  it("a partly accepted message whose link is gone ends as partly refused when closing", async () => {
    const { dispatcher, submits, settled, setStatus } = setUp();
    dispatcher.add(many(1, { segments: 2 }));
    setStatus("down");
    submits[0]?.answer(accept("a"));
    await eventually(() => dispatcher.inFlight === 1 && submits.length === 1);
    await Promise.resolve();
    dispatcher.expire(true);
    await eventually(() => settled.length === 1);
    expect(settled[0]?.outcome.kind).to.equal("partly_refused");
  });

  it("one that is between two rounds when closing ends at once, without another submit", async () => {
    const { dispatcher, submits, settled } = setUp();
    dispatcher.add(many(1, { segments: 2 }));
    submits[0]?.answer(accept("a"));
    await eventually(() => submits.length === 2);
    submits[1]?.answer({ kind: "refused", code: "ESME_RTHROTTLED", disposition: "throttled" });
    await new Promise(setImmediate);
    expect(settled.length, "it pauses before the next round").to.equal(0);
    dispatcher.expire(true);
    dispatcher.setBinds([]);
    await new Promise(setImmediate);
    expect(settled.map(({ outcome }) => outcome.kind)).to.deep.equal(["partly_refused"]);
    expect(settled[0]?.submissions.length).to.equal(1);
    expect([dispatcher.inFlight, submits.length]).to.deep.equal([0, 2]);
  });

  it("one whose first part is taken only after closing ends at once, without another submit", async () => {
    const { dispatcher, submits, settled } = setUp();
    dispatcher.add(many(1, { segments: 2 }));
    dispatcher.expire(true);
    dispatcher.setBinds([]);
    submits[0]?.answer(accept("a"));
    await new Promise(setImmediate);
    expect(settled.map(({ outcome }) => outcome.kind)).to.deep.equal(["partly_refused"]);
    expect(dispatcher.inFlight).to.equal(0);
  });

  it("a message put off again and again waits longer each time, until something else ends it", async () => {
    const { clock, dispatcher, submits, settled } = setUp();
    const full: PartOutcome = { kind: "refused", code: "ESME_RMSGQFUL", disposition: "throttled" };
    const noLink: PartOutcome = { kind: "not_sent", code: "closed" };
    const waits: number[] = [];
    for (const answer of [full, full, noLink, full, accept("a"), full]) {
      clock.advance(60_000);
      dispatcher.add(many(1));
      submits.at(-1)?.answer(answer);
      const count = settled.length + 1;
      await eventually(() => settled.length === count);
      const { kind, retryAtMs } = settled.at(-1)?.outcome ?? {};
      waits.push(kind === "not_sent" ? Number(retryAtMs) - clock.now() : -1);
    }
    expect(waits).to.deep.equal([250, 500, 0, 1000, -1, 250]);
  });

  it("a message that the link cannot carry is refused without a submit", () => {
    const { dispatcher, submits, settled } = setUp();
    dispatcher.add(many(1, { body: "unfit" }));
    expect(submits.length).to.equal(0);
    expect(settled[0]?.outcome).to.include({ kind: "refused", errorCode: "carrier_rejected" });
  });

  it("journals a message once, before its first octet, with its parties", () => {
    const { dispatcher, journaled } = setUp();
    dispatcher.add(many(2, { segments: 2 }));
    dispatcher.beforeWrite(["msg_0", "msg_1", "msg_0"]);
    dispatcher.beforeWrite(["msg_0"]);
    expect(journaled.map(({ messageId }) => messageId)).to.deep.equal(["msg_0", "msg_1"]);
    const counts = { parts: 2, segments: 2 };
    expect(journaled[0]).to.include({ to: "+2348031234567", from: "DEMO", ...counts });
  });

  it("journals that one receipt will speak for all parts", () => {
    const { dispatcher, journaled } = setUp(10, true);
    dispatcher.add(many(1, { segments: 2 }));
    dispatcher.beforeWrite(["msg_0"]);
    expect(journaled[0]).to.include({ parts: 2, segments: 0 });
  });

  it("submits only what the pacer grants", async () => {
    const { dispatcher, submits } = setUp(10);
    let grants = [2, 0, 1];
    dispatcher.setPacer({
      ask: () => {
        const [count = 0, ...rest] = grants;
        grants = rest;
        return Promise.resolve({ count, waitMs: grants.length === 0 ? 60_000 : 1 });
      },
    });
    dispatcher.add(many(8));
    await eventually(() => grants.length === 0 && submits.length === 3);
    expect(dispatcher.waiting).to.equal(5);
    dispatcher.giveBackWaiting("end");
  });
});
