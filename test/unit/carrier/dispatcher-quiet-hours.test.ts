import { expect } from "chai";
import { accept, many, setUp } from "../../support/carrier-dispatcher.ts";
import { eventually } from "../../support/poll.ts";

describe("the dispatcher, with messages that quiet hours bind", () => {
  it("submits a message inside its span, and returns one whose span has ended", async () => {
    const { dispatcher, clock, submits, reported } = setUp(1);
    const untilMs = clock.now() + 2000;
    dispatcher.add(many(2, { openSpan: { fromMs: 0, untilMs } }));
    expect(submits, "the window has one slot").to.have.length(1);
    clock.advance(2000);
    submits[0]?.answer(accept("a"));
    await eventually(() => reported.length === 2);
    expect(submits).to.have.length(1);
    const returned = reported.find(({ outcome }) => outcome.messageId === "msg_1")?.outcome;
    expect(returned).to.include({ kind: "not_sent", carrierCode: "quiet_hours", errorCode: "" });
    expect(returned?.retryAtMs).to.equal(clock.now() + 1000);
  });

  it("returns a message whose span has not begun, as after a clock was set back", () => {
    const { dispatcher, clock, submits, reported, journaled } = setUp();
    const openSpan = { fromMs: clock.now() + 1, untilMs: clock.now() + 10_000 };
    dispatcher.add(many(3, { openSpan }));
    expect(submits).to.deep.equal([]);
    expect(journaled).to.deep.equal([]);
    expect(reported).to.have.length(3);
  });

  it("submits the other parts of a message whose first part went before", async () => {
    const { dispatcher, clock, submits, reported } = setUp();
    const openSpan = { fromMs: 0, untilMs: clock.now() + 1000 };
    dispatcher.add(many(1, { segments: 3, openSpan }));
    clock.advance(5000);
    submits[0]?.answer(accept("a"));
    await eventually(() => submits.length === 3);
    submits[1]?.answer(accept("b"));
    submits[2]?.answer(accept("c"));
    await eventually(() => reported.length === 1);
    expect(reported[0]?.outcome.kind).to.equal("accepted");
  });
});
