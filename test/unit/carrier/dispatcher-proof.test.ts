import { expect } from "chai";
import type { PartOutcome } from "../../../services/carrier/domain/message.ts";
import { accept, many, PROOF_WAIT_MS, setUp } from "../../support/carrier-dispatcher.ts";
import { claimed } from "../../support/carrier-messages.ts";
import { eventually } from "../../support/poll.ts";

const TIMEOUT: PartOutcome = { kind: "unknown", code: "timeout" };

describe("a message whose first part alone is in doubt", () => {
  async function inDoubt(hasSingleReceipt = false) {
    const world = setUp(10, hasSingleReceipt);
    world.dispatcher.add(many(1, { segments: 3 }));
    world.dispatcher.beforeWrite([{ messageId: "msg_0", index: 0 }]);
    world.submits[0]?.answer(TIMEOUT);
    await eventually(() => world.reported.length === 1);
    return world;
  }

  /** Accepts the other two parts. The bind pauses after a submit without an answer, so they leave one by one. */
  async function answerOthers({ clock, dispatcher, submits }: ReturnType<typeof setUp>) {
    for (const at of [1, 2]) {
      await eventually(() => {
        clock.advance(1000);
        dispatcher.pump();
        return submits.length > at;
      });
      submits[at]?.answer(accept(`part ${submits[at]?.part.index}`));
    }
  }

  it("is reported as in doubt, keeps its journal entry and sends no other part", async () => {
    const { reported, submits } = await inDoubt();
    expect(reported[0]).to.include({ keepsEntry: true });
    expect(reported[0]?.outcome)
      .to.include({ kind: "unknown" })
      .and.not.have.property("isIncomplete");
    expect(reported[0]?.unknowns.map(({ segment }) => segment)).to.deep.equal([1]);
    expect(submits.length).to.equal(1);
  });

  it("submits the other parts when messaging reports that a receipt proved the first", async () => {
    const world = await inDoubt();
    const { dispatcher, clock, reported, journaledParts } = world;
    reported[0]?.onReported?.(false);
    clock.advance(2000);
    dispatcher.expire(false);
    expect(reported.length, "messaging is asked again").to.equal(2);
    reported[1]?.onReported?.(true);
    await answerOthers(world);
    dispatcher.beforeWrite([1, 2].map((index) => ({ messageId: "msg_0", index })));
    expect(journaledParts.map(({ index }) => index)).to.deep.equal([1, 2]);
    await eventually(() => reported.length === 3);
    expect(reported[2]?.outcome.kind).to.equal("accepted");
    expect(reported[2]).not.to.have.property("keepsEntry");
    expect(reported[2]?.unknowns, "its receipt has matched").to.deep.equal([]);
    expect(reported[2]?.submissions.map(({ key }) => key)).to.deep.equal(["part 1", "part 2"]);
  });

  it("submits the other parts after a late response", async () => {
    const world = await inDoubt();
    const { dispatcher, reported } = world;
    dispatcher.lateAnswer("msg_0", 0, accept("late"));
    await answerOthers(world);
    await eventually(() => reported.length === 2);
    expect(reported[1]?.outcome.kind).to.equal("accepted");
    expect(reported[1]?.resolved.map(({ segment }) => segment)).to.deep.equal([1]);
  });

  it("ends by a late refusal", async () => {
    const { dispatcher, reported, submits } = await inDoubt();
    const refused = { kind: "refused", code: "ESME_RINVDSTADR", disposition: "permanent" } as const;
    dispatcher.lateAnswer("msg_0", 0, refused);
    expect(reported[1]?.outcome.kind).to.equal("refused");
    expect(reported[1]).not.to.have.property("keepsEntry");
    expect(submits.length).to.equal(1);
  });

  for (const isClosing of [false, true]) {
    it(`is reported as incomplete when ${isClosing ? "the process stops" : "its time is over"}`, async () => {
      const { dispatcher, clock, reported, submits } = await inDoubt();
      clock.advance(isClosing ? 1 : PROOF_WAIT_MS);
      dispatcher.expire(isClosing);
      expect(reported[1]?.outcome).to.include({ kind: "unknown", isIncomplete: true });
      expect(reported[1]).not.to.have.property("keepsEntry");
      reported[0]?.onReported?.(true);
      expect(submits.length, "a late proof changes nothing").to.equal(1);
    });
  }

  it("is incomplete at once when one receipt counts for all parts", async () => {
    const { reported } = await inDoubt(true);
    expect(reported[0]?.outcome).to.include({ kind: "unknown", isIncomplete: true });
  });
});

describe("a message that an earlier process wrote in part", () => {
  const message = claimed({ messageId: "msg_old", segments: 3 });
  const restart = (written: readonly number[], parts = 3, isFirstTaken = written.length > 1) =>
    setUp(10, false, false, [{ message, parts, written: new Set(written), isFirstTaken }]);

  it("waits for the proof of its first part", async () => {
    const { reported, submits } = restart([0]);
    expect(reported[0]).to.include({ keepsEntry: true });
    expect(submits.length).to.equal(0);
    reported[0]?.onReported?.(true);
    await eventually(() => submits.length === 2);
    expect(submits.map(({ part }) => part.index)).to.deep.equal([1, 2]);
  });

  it("submits the others at once when another part was written, because the first precedes it", async () => {
    const { reported, submits } = restart([0, 1]);
    await eventually(() => submits.length === 1);
    expect(submits[0]?.part.index).to.equal(2);
    submits[0]?.answer(accept("c"));
    await eventually(() => reported.length === 1);
    expect(reported[0]?.outcome.kind, "the second part is in doubt").to.equal("unknown");
    expect(reported[0]?.outcome).not.to.have.property("isIncomplete");
  });

  it("submits a part again that the carrier had refused", async () => {
    const { submits, clock, dispatcher, journaledParts, refusedParts } = restart([0], 3, true);
    const parts = [1, 2].map((index) => ({ messageId: "msg_old", index }));
    await eventually(() => submits.length === 2);
    expect(submits.map(({ part }) => part.index)).to.deep.equal([1, 2]);
    dispatcher.beforeWrite(parts);
    submits[0]?.answer({ kind: "refused", code: "ESME_RTHROTTLED", disposition: "throttled" });
    submits[1]?.answer({ kind: "unknown", code: "timeout" });
    await new Promise(setImmediate);
    clock.advance(6000);
    await eventually(() => {
      dispatcher.pump();
      return submits.length === 3;
    });
    dispatcher.beforeWrite(parts);
    expect(refusedParts.map(({ index }) => index)).to.deep.equal([1]);
    expect(journaledParts.map(({ index }) => index)).to.deep.equal([1, 2, 1]);
  });

  for (const isClosing of [false, true]) {
    it(`is incomplete when no link came before ${isClosing ? "the process stops" : "its time is over"}`, () => {
      const { dispatcher, clock, reported } = setUp(
        10,
        false,
        false,
        [{ message, parts: 3, written: new Set([0, 1]), isFirstTaken: true }],
        "down",
      );
      expect(reported).to.deep.equal([]);
      clock.advance(isClosing ? 1 : PROOF_WAIT_MS);
      dispatcher.expire(isClosing);
      expect(reported[0]?.outcome).to.include({ kind: "unknown", isIncomplete: true });
    });
  }

  it("is incomplete when the link makes other parts of it now", () => {
    const { reported, submits } = restart([0], 2);
    expect(reported[0]?.outcome).to.include({ kind: "unknown", isIncomplete: true });
    expect(submits.length).to.equal(0);
  });
});
