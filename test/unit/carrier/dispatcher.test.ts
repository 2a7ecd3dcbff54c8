import { mock } from "node:test";
import { expect } from "chai";
import { accept, many, setUp } from "../../support/carrier-dispatcher.ts";
import { eventually } from "../../support/poll.ts";

type Parts = ReturnType<typeof setUp>;

describe("the dispatcher of a connector", () => {
  it("keeps the window full and never exceeds it", async () => {
    const { dispatcher, submits, reported } = setUp(3);
    dispatcher.add(many(5));
    expect(submits.length).to.equal(3);
    expect(dispatcher.waiting).to.equal(2);
    submits[0]?.answer(accept("a"));
    await eventually(() => submits.length === 4);
    expect(reported.map(({ outcome }) => outcome.kind)).to.deep.equal(["accepted"]);
    expect(reported[0]?.submissions[0]).to.include({ key: "a", messageId: "msg_0", segment: 0 });
  });

  it("sends the other parts when the first is accepted, and reports one outcome for all", async () => {
    const { dispatcher, submits, reported } = setUp();
    dispatcher.add(many(1, { segments: 3 }));
    expect(submits.length).to.equal(1);
    submits[0]?.answer(accept("a"));
    await eventually(() => submits.length === 3);
    submits[2]?.answer(accept("c"));
    submits[1]?.answer(accept("b"));
    await eventually(() => reported.length === 1);
    expect(reported[0]?.outcome.kind).to.equal("accepted");
    const segments = reported[0]?.submissions.map(({ key, segment }) => `${key}${segment}`).sort();
    expect(segments).to.deep.equal(["a1", "b2", "c3"]);
  });

  it("submits a deferred part again, and never an accepted one", async () => {
    const { dispatcher, submits, reported, saved } = setUp();
    dispatcher.add(many(1, { segments: 2 }));
    submits[0]?.answer(accept("a"));
    await eventually(() => submits.length === 2);
    expect(saved).to.deep.equal([]);
    submits[1]?.answer({ kind: "refused", code: "ESME_RSYSERR", disposition: "temporary" });
    await eventually(() => submits.length === 3);
    expect(saved, "a receipt of the first may come long before the outcome").to.deep.equal([["a"]]);
    expect(submits[2]?.part.index).to.equal(1);
    submits[2]?.answer(accept("b"));
    await eventually(() => reported.length === 1);
    expect(reported[0]?.outcome.kind).to.equal("accepted");
  });

  it("stores the id of each accepted part once while other parts wait", async () => {
    mock.timers.enable({ apis: ["setInterval"] });
    try {
      const { dispatcher, submits, reported, saved } = setUp(1);
      dispatcher.add(many(1, { segments: 3 }));
      for (const [at, id] of ["a", "b"].entries()) {
        submits[at]?.answer(accept(id));
        await eventually(() => submits.length === at + 2);
        mock.timers.tick(999);
        expect(saved).to.have.length(at);
        mock.timers.tick(1);
        expect(saved[at]).to.deep.equal([id]);
        mock.timers.tick(5000);
        expect(saved).to.have.length(at + 1);
      }
      submits[2]?.answer(accept("c"));
      await eventually(() => reported.length === 1);
      mock.timers.tick(5000);
      // Its end stores them all.
      expect(saved).to.deep.equal([["a"], ["b"]]);
      expect(reported[0]?.submissions).to.have.length(3);
    } finally {
      mock.timers.reset();
    }
  });

  it("returns the whole message to its queue when its first part is not accepted", async () => {
    const { dispatcher, submits, reported } = setUp();
    dispatcher.add(many(1, { segments: 3 }));
    submits[0]?.answer({ kind: "not_sent", code: "closed" });
    await eventually(() => reported.length === 1);
    expect(reported[0]?.outcome.kind).to.equal("not_sent");
    expect(submits.length).to.equal(1);
  });

  it("saves a submit without an answer by its parties and never repeats it", async () => {
    const { dispatcher, submits, reported } = setUp();
    dispatcher.add(many(1));
    submits[0]?.answer({ kind: "unknown", code: "timeout" });
    await eventually(() => reported.length === 1);
    expect(reported[0]?.outcome.kind).to.equal("unknown");
    expect(reported[0]?.unknowns[0]).to.include({ to: "2348031234567", from: "demo", segment: 0 });
    dispatcher.pump();
    expect(submits.length).to.equal(1);
  });

  it("a late answer decides a message in doubt, under the same claim", async () => {
    const { dispatcher, submits, reported } = setUp();
    dispatcher.add(many(1));
    submits[0]?.answer({ kind: "unknown", code: "timeout" });
    await eventually(() => reported.length === 1);
    dispatcher.lateAnswer("msg_0", 0, accept("late"));
    expect(reported[1]?.outcome).to.include({ kind: "accepted", claimId: "claim-1" });
    expect(reported[1]?.submissions[0]?.key).to.equal("late");
    expect(reported[1]?.resolved.length).to.equal(1);
    dispatcher.lateAnswer("msg_0", 0, accept("later"));
    expect(reported.length).to.equal(2);
  });

  it("a late answer decides a message in doubt after its bind was released", async () => {
    const { dispatcher, submits, reported } = setUp();
    dispatcher.add(many(1));
    submits[0]?.answer({ kind: "unknown", code: "timeout" });
    await eventually(() => reported.length === 1);
    dispatcher.setBinds([]);
    dispatcher.lateAnswer("msg_0", 0, accept("late"));
    await eventually(() => reported.length === 2);
    expect(reported[1]?.submissions[0]?.key).to.equal("late");
  });

  it("late answers to several parts resolve all of them, except accepted ones without an id", async () => {
    const { dispatcher, submits, reported } = setUp();
    dispatcher.add(many(1, { segments: 4 }));
    submits[0]?.answer(accept("a"));
    await eventually(() => submits.length === 4);
    submits[1]?.answer({ kind: "unknown", code: "timeout" });
    submits[2]?.answer({ kind: "unknown", code: "timeout" });
    submits[3]?.answer(accept(""));
    await eventually(() => reported.length === 1);
    expect(reported[0]?.unknowns.map(({ segment }) => segment)).to.deep.equal([2, 3, 4]);
    dispatcher.lateAnswer("msg_0", 1, accept("b"));
    dispatcher.lateAnswer("msg_0", 2, accept("c"));
    expect(reported[1]?.outcome.kind).to.equal("accepted");
    expect(reported[1]?.resolved.map(({ segment }) => segment)).to.deep.equal([2, 3]);
  });

  it("a late accept without an id is saved as accepted", async () => {
    const { dispatcher, submits, reported } = setUp();
    dispatcher.add(many(1));
    submits[0]?.answer({ kind: "unknown", code: "timeout" });
    await eventually(() => reported.length === 1);
    dispatcher.lateAnswer("msg_0", 0, accept(""));
    expect(reported[1]?.outcome.kind).to.equal("accepted");
    expect(reported[1]?.unknowns.map(({ isTaken }) => isTaken)).to.deep.equal([true]);
    expect(reported[1]?.resolved).to.deep.equal([]);
  });

  it("a part that was not sent is submitted although another part is in doubt", async () => {
    const { clock, dispatcher, submits, reported } = setUp();
    dispatcher.add(many(1, { segments: 3 }));
    submits[0]?.answer(accept("a"));
    await eventually(() => submits.length === 3);
    submits[1]?.answer({ kind: "unknown", code: "closed" });
    submits[2]?.answer({ kind: "not_sent", code: "closed" });
    await eventually(() => {
      // The bind pauses after a submit without an answer.
      clock.advance(1000);
      dispatcher.pump();
      return submits.length === 4;
    });
    expect(submits[3]?.part.index).to.equal(2);
    submits[3]?.answer(accept("c"));
    await eventually(() => reported.length === 1);
    expect(reported[0]?.outcome)
      .to.include({ kind: "unknown" })
      .and.not.have.property("isIncomplete");
    expect(reported[0]?.unknowns.map(({ segment }) => segment)).to.deep.equal([2]);
  });

  it("a late answer to one part counts while another part is unanswered", async () => {
    const { dispatcher, submits, reported } = setUp();
    dispatcher.add(many(1, { segments: 3 }));
    submits[0]?.answer(accept("a"));
    await eventually(() => submits.length === 3);
    submits[1]?.answer({ kind: "unknown", code: "timeout" });
    await new Promise(setImmediate);
    dispatcher.lateAnswer("msg_0", 1, accept("b"));
    expect(reported.length).to.equal(0);
    submits[2]?.answer(accept("c"));
    await eventually(() => reported.length === 1);
    expect(reported[0]?.outcome.kind).to.equal("accepted");
    expect(reported[0]?.submissions.length).to.equal(3);
  });

  it("a permanent refusal after an accepted part ends the message although another part is in doubt", async () => {
    const { dispatcher, submits, reported } = setUp();
    dispatcher.add(many(1, { segments: 3 }));
    submits[0]?.answer(accept("a"));
    await eventually(() => submits.length === 3);
    submits[1]?.answer({ kind: "unknown", code: "timeout" });
    submits[2]?.answer({ kind: "refused", code: "ESME_RINVDSTADR", disposition: "permanent" });
    await eventually(() => reported.length === 1);
    expect(reported[0]?.outcome.kind).to.equal("partly_refused");
    expect(reported[0]?.unknowns.map(({ segment }) => segment)).to.deep.equal([2]);
  });

  it("a journal that cannot be written pauses the bind for a second", async () => {
    const { clock, dispatcher, submits, reported } = setUp();
    dispatcher.add(many(1));
    submits[0]?.answer({ kind: "not_sent", code: "journal_failed" });
    await eventually(() => reported.length === 1);
    expect(reported[0]?.outcome.kind).to.equal("not_sent");
    expect(dispatcher.room).to.equal(0);
    clock.advance(1000);
    expect(dispatcher.room).to.equal(10);
  });

  it("a throttled message does not keep the others back", async () => {
    const { dispatcher, submits, reported } = setUp(4);
    dispatcher.add(many(6));
    submits[0]?.answer({ kind: "refused", code: "ESME_RTHROTTLED", disposition: "throttled" });
    await eventually(() => reported.length === 1);
    for (const submit of submits.slice(1, 4)) submit.answer(accept("x"));
    await eventually(() => reported.length === 4);
    expect(submits.length).to.equal(6);
  });

  it("answers that test numbers choose do not slow a link", async () => {
    const { dispatcher, submits, reported } = setUp(4, false, true);
    dispatcher.add(many(6));
    submits[0]?.answer({ kind: "refused", code: "queue_full", disposition: "throttled" });
    submits[1]?.answer({ kind: "unknown", code: "timeout" });
    await eventually(() => reported.length === 2);
    expect(submits.length).to.equal(6);
  });

  for (const [what, happen] of [
    ["its carrier only throttles it", ({ clock }: Parts) => clock.advance(300_000)],
    ["the machine's clock is set ahead", ({ wall }: Parts) => wall.advance(900_000)],
  ] as const) {
    it(`the rest of a message is not given up while ${what}`, async () => {
      const parts = setUp();
      const { clock, dispatcher, submits, reported } = parts;
      dispatcher.add(many(1, { segments: 2 }));
      submits[0]?.answer(accept("a"));
      await eventually(() => submits.length === 2);
      happen(parts);
      dispatcher.expire(false);
      submits[1]?.answer({ kind: "refused", code: "ESME_RTHROTTLED", disposition: "throttled" });
      await new Promise(setImmediate);
      clock.advance(6000);
      await eventually(() => {
        dispatcher.pump();
        return submits.length === 3;
      });
      submits[2]?.answer(accept("b"));
      await eventually(() => reported.length === 1);
      expect(reported[0]?.outcome.kind).to.equal("accepted");
    });
  }
});
