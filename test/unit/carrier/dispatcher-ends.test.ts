import { expect } from "chai";
import type { PartOutcome } from "../../../services/carrier/domain/message.ts";
import { accept, many, setUp } from "../../support/carrier-dispatcher.ts";
import { claimed } from "../../support/carrier-messages.ts";
import { eventually } from "../../support/poll.ts";

describe("messages that a dispatcher returns, ends and journals", () => {
  it("messages that were never started return to their queue on request", async () => {
    const { dispatcher, submits, reported } = setUp(1);
    dispatcher.add(many(3));
    dispatcher.returnWaiting("paused");
    expect(reported.map(({ outcome }) => `${outcome.messageId} ${outcome.kind}`)).to.deep.equal([
      "msg_1 not_sent",
      "msg_2 not_sent",
    ]);
    expect(submits.length).to.equal(1);
  });

  it("messages that wait too long behind a silent carrier return to their queue", async () => {
    const { clock, dispatcher, submits, reported } = setUp(1);
    dispatcher.add(many(2));
    clock.advance(3000);
    dispatcher.add([claimed({ messageId: "msg_later" })]);
    clock.advance(1999);
    dispatcher.returnOverdue();
    expect(reported).to.deep.equal([]);
    clock.advance(1);
    dispatcher.returnOverdue();
    expect(reported.map(({ outcome }) => `${outcome.messageId} ${outcome.kind}`)).to.deep.equal([
      "msg_1 not_sent",
    ]);
    expect([dispatcher.waiting, submits.length]).to.deep.equal([1, 1]);
  });

  it("a partly accepted message whose link closed ends as partly refused at shutdown", async () => {
    const { dispatcher, submits, reported, setStatus } = setUp();
    dispatcher.add(many(1, { segments: 2 }));
    setStatus("down");
    submits[0]?.answer(accept("a"));
    await eventually(() => dispatcher.inFlight === 1 && submits.length === 1);
    await Promise.resolve();
    dispatcher.expire(true);
    await eventually(() => reported.length === 1);
    expect(reported[0]?.outcome.kind).to.equal("partly_refused");
  });

  it("a message between two rounds ends at once on close, without another submit", async () => {
    const { dispatcher, submits, reported } = setUp();
    dispatcher.add(many(1, { segments: 2 }));
    submits[0]?.answer(accept("a"));
    await eventually(() => submits.length === 2);
    submits[1]?.answer({ kind: "refused", code: "ESME_RTHROTTLED", disposition: "throttled" });
    await new Promise(setImmediate);
    expect(reported.length, "it pauses before the next round").to.equal(0);
    dispatcher.expire(true);
    dispatcher.setBinds([]);
    await new Promise(setImmediate);
    expect(reported.map(({ outcome }) => outcome.kind)).to.deep.equal(["partly_refused"]);
    expect(reported[0]?.submissions.length).to.equal(1);
    expect([dispatcher.inFlight, submits.length]).to.deep.equal([0, 2]);
  });

  it("a message whose first part is accepted after close ends at once, without another submit", async () => {
    const { dispatcher, submits, reported } = setUp();
    dispatcher.add(many(1, { segments: 2 }));
    dispatcher.expire(true);
    dispatcher.setBinds([]);
    submits[0]?.answer(accept("a"));
    await new Promise(setImmediate);
    expect(reported.map(({ outcome }) => outcome.kind)).to.deep.equal(["partly_refused"]);
    expect(dispatcher.inFlight).to.equal(0);
  });

  it("a message that grew too old during a pause of the process is not started", async () => {
    const { clock, dispatcher, submits, reported } = setUp(1);
    dispatcher.add(many(2));
    clock.advance(700_000);
    submits[0]?.answer(accept("a"));
    await eventually(() => reported.length === 2);
    expect(reported.map(({ outcome }) => `${outcome.messageId} ${outcome.kind}`)).to.have.members([
      "msg_0 accepted",
      "msg_1 not_sent",
    ]);
    expect(submits.length).to.equal(1);
  });

  it("remaining parts without a bind expire or stay, also while the clock advances", async () => {
    const { clock, steady, dispatcher, submits, reported } = setUp(10);
    for (let at = 0; at < 3; at += 1) {
      dispatcher.add([claimed({ messageId: `msg_${at}`, segments: 2 })]);
      clock.advance(3);
    }
    dispatcher.setBinds([]);
    for (const submit of submits.splice(0)) submit.answer(accept("a"));
    await new Promise(setImmediate);
    // The first is too old at the first look; each look takes a millisecond, so the second would be at another.
    clock.advance(480_000 - 9);
    steady.ticksMs = 1;
    dispatcher.expire(false);
    steady.ticksMs = 0;
    clock.advance(1000);
    dispatcher.expire(false);
    await eventually(() => reported.length === 3);
    expect(reported.map(({ outcome }) => outcome.kind)).to.deep.equal(
      Array.from({ length: 3 }, () => "partly_refused"),
    );
    expect(dispatcher.inFlight).to.equal(0);
  });

  it("remaining parts that grew too old during a pause of the process are not submitted", async () => {
    const { clock, dispatcher, submits, reported } = setUp();
    dispatcher.add(many(1, { segments: 2 }));
    submits[0]?.answer(accept("a"));
    await eventually(() => submits.length === 2);
    submits[1]?.answer({ kind: "refused", code: "ESME_RTHROTTLED", disposition: "throttled" });
    clock.advance(300_000);
    await new Promise(setImmediate);
    clock.advance(400_000);
    await eventually(() => reported.length === 1);
    expect(reported[0]?.outcome.kind).to.equal("partly_refused");
    expect(submits.length).to.equal(2);
  });

  it("a message waits twice as long after each deferral, until it is accepted", async () => {
    const { clock, dispatcher, submits, reported } = setUp();
    const full: PartOutcome = { kind: "refused", code: "ESME_RMSGQFUL", disposition: "throttled" };
    const noLink: PartOutcome = { kind: "not_sent", code: "closed" };
    const waits: number[] = [];
    for (const answer of [full, full, noLink, full, accept("a"), full]) {
      clock.advance(60_000);
      dispatcher.add(many(1));
      submits.at(-1)?.answer(answer);
      const count = reported.length + 1;
      await eventually(() => reported.length === count);
      const { kind, retryAtMs } = reported.at(-1)?.outcome ?? {};
      waits.push(kind === "not_sent" ? Number(retryAtMs) - clock.now() : -1);
    }
    expect(waits).to.deep.equal([250, 500, 0, 1000, -1, 250]);
  });

  it("a message that the link cannot carry is refused without a submit", () => {
    const { dispatcher, submits, reported } = setUp();
    dispatcher.add(many(1, { body: "unfit" }));
    expect(submits.length).to.equal(0);
    expect(reported[0]?.outcome).to.include({ kind: "refused", errorCode: "carrier_rejected" });
  });

  it("journals a message once, before its first octet, with its parties", () => {
    const { dispatcher, journaled } = setUp();
    dispatcher.add(many(2, { segments: 2 }));
    dispatcher.beforeWrite([
      { messageId: "msg_0", index: 0 },
      { messageId: "msg_1", index: 0 },
      { messageId: "msg_0", index: 0 },
    ]);
    dispatcher.beforeWrite([{ messageId: "msg_0", index: 0 }]);
    expect(journaled.map(({ messageId }) => messageId)).to.deep.equal(["msg_0", "msg_1"]);
    const counts = { parts: 2, segments: 2 };
    expect(journaled[0]).to.include({ to: "+2348031234567", from: "DEMO", ...counts });
  });

  it("journals that the carrier sends one receipt for all parts", () => {
    const { dispatcher, journaled } = setUp(10, true);
    dispatcher.add(many(1, { segments: 2 }));
    dispatcher.beforeWrite([{ messageId: "msg_0", index: 0 }]);
    expect(journaled[0]).to.include({ parts: 2, segments: 0 });
  });

  it("the dispatcher submits only as many messages as the rate limiter grants", async () => {
    const { dispatcher, submits } = setUp(10);
    let grants = [2, 0, 1];
    dispatcher.setRateLimiter({
      acquire: () => {
        const [count = 0, ...rest] = grants;
        grants = rest;
        return Promise.resolve({ count, waitMs: grants.length === 0 ? 2_000 : 1 });
      },
    });
    dispatcher.add(many(8));
    await eventually(() => grants.length === 0 && submits.length === 3);
    expect(dispatcher.waiting).to.equal(5);
    dispatcher.returnWaiting("end");
  });
});
