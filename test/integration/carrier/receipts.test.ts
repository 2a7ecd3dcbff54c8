/** Receipts against the real store: matched, early, in doubt, unknown, and while messaging is unavailable. */
import { expect } from "chai";
import { AppError } from "../../../services/shared/core/errors.ts";
import { eventually } from "../../support/poll.ts";
import { openReceiptSuite, partiesAfterMs, type ReceiptTest } from "../../support/receipt-suite.ts";

describe("the receipt matcher", () => {
  let isMessagingAway: boolean;
  let refusedId: string;
  const { clock, current, receipt, submission } = openReceiptSuite(
    "carrier_receipts",
    (receipts) => {
      if (isMessagingAway) throw new AppError("service_unavailable", "Away.");
      if (receipts.some(({ messageId }) => messageId === refusedId)) {
        throw new AppError("validation_error", "No such state.");
      }
    },
  );
  let { store, matcher, recorded } = {} as ReceiptTest;

  beforeEach(() => {
    isMessagingAway = false;
    refusedId = "";
    ({ store, matcher, recorded } = current());
  });

  it("a rejected receipt blocks no other and stays parked until messaging takes it", async () => {
    const [wrong, right] = ["msg_01J00000000000000000000001", "msg_01J00000000000000000000002"];
    refusedId = wrong;
    const ids = () => recorded.map(({ messageId }) => messageId);
    await Promise.all([
      matcher.take(receipt({ keys: [], messageId: wrong })),
      matcher.take(receipt({ keys: [], messageId: right })),
    ]);
    expect(ids()).to.deep.equal([right]);
    clock.advance(120_000);
    await matcher.sweep();
    expect(await store.countParked()).to.equal(1);
    expect(await store.listUnmatched(10)).to.deep.equal([]);
    refusedId = "";
    clock.advance(120_000);
    await matcher.sweep();
    expect(ids()).to.deep.equal([right, wrong]);
    expect(await store.countParked()).to.equal(0);
  });

  it("one process at a time matches a parked receipt", async () => {
    await matcher.take(receipt());
    clock.advance(1000);
    const takes = [1, 2, 3].map(() => store.takeDueParked(clock.now(), 10));
    expect((await Promise.all(takes)).flat().length).to.equal(1);
  });

  it("a receipt that messaging calls wrong for a day is left to operators", async () => {
    refusedId = "msg_01J00000000000000000000001";
    await matcher.take(receipt({ keys: [], messageId: refusedId }));
    clock.advance(86_400_000);
    await matcher.sweep();
    expect(await store.countParked()).to.equal(0);
    expect((await store.listUnmatched(10)).length).to.equal(1);
    expect(recorded).to.deep.equal([]);
  });

  it("a receipt of a stored submission is recorded before it may be acknowledged", async () => {
    await store.saveSubmissions([submission({ segment: 2 })]);
    await matcher.take(receipt());
    expect(recorded).to.have.length(1);
    expect(recorded[0]).to.include({ messageId: submission().messageId, segment: 2 });
    expect(await store.countParked()).to.equal(0);
  });

  it("another connector's id is another id", async () => {
    await store.saveSubmissions([submission({ connectorId: "other" })]);
    await matcher.take(receipt());
    expect(recorded).to.deep.equal([]);
    expect(await store.countParked()).to.equal(1);
  });

  it("an early receipt is parked and matched when its submission is stored", async () => {
    await matcher.take(receipt());
    expect(await store.countParked()).to.equal(1);
    await store.saveSubmissions([submission()]);
    matcher.onStored([submission()]);
    await eventually(() => recorded.length === 1);
    await eventually(async () => (await store.countParked()) === 0);
  });

  it("one parked by another process is found by the sweep", async () => {
    await store.park([receipt()], clock.now(), partiesAfterMs);
    await store.saveSubmissions([submission()]);
    await matcher.sweep();
    expect(recorded).to.have.length(1);
    expect(await store.countParked()).to.equal(0);
  });

  it("an id in the other notation counts only when the recipient is the same", async () => {
    await store.saveSubmissions([submission({ key: "k2" })]);
    await matcher.take(receipt({ keys: ["k1", "k2"], to: "2348039999999" }));
    expect(recorded).to.deep.equal([]);
    await matcher.take(receipt({ keys: ["k1", "k2"] }));
    expect(recorded).to.have.length(1);
  });

  it("a receipt by its text alone counts only from the recipient's own number", async () => {
    await store.saveSubmissions([submission()]);
    const forged = { isUnmarked: true, verdict: "undelivered" } as const;
    await matcher.take(receipt({ ...forged, to: "2348039999999" }));
    expect(recorded).to.deep.equal([]);
    await matcher.take(receipt({ isUnmarked: true }));
    expect(recorded).to.have.length(1);
  });

  it("a receipt without an id ends its submit's wait, so that the next receipt matches the next message", async () => {
    const { key: _, ...first } = submission();
    const second = { ...first, messageId: "msg_01J00000000000000000000001" };
    await store.saveUnknowns([first]);
    for (const verdict of ["acknowledged", "delivered"] as const) {
      await matcher.take(receipt({ keys: [], verdict }));
      clock.advance(5000);
      await matcher.sweep();
    }
    await store.saveUnknowns([second]);
    await matcher.take(receipt({ keys: [] }));
    clock.advance(5000);
    await matcher.sweep();
    expect(recorded.map(({ messageId, verdict }) => [messageId, verdict])).to.deep.equal([
      [first.messageId, "acknowledged"],
      [first.messageId, "delivered"],
      [second.messageId, "delivered"],
    ]);
  });

  it("two receipts without ids that are matched together count for one part each", async () => {
    const { key: _, ...unknown } = submission();
    await store.saveUnknowns([1, 2].map((segment) => ({ ...unknown, segment })));
    await store.park([receipt({ keys: [] }), receipt({ keys: [] })], clock.now(), partiesAfterMs);
    clock.advance(5000);
    await matcher.sweep();
    expect(recorded.map(({ segment }) => segment).toSorted()).to.deep.equal([1, 2]);
  });

  it("a receipt that only its numbers can match is matched as soon as that is allowed", async () => {
    await store.park([receipt({ keys: [] })], clock.now(), () => 11_500);
    const looks: number[] = [];
    for (const beganMs = clock.now(); clock.now() - beganMs < 30_000; clock.advance(500)) {
      const due = await store.takeDueParked(clock.now(), 10);
      if (due.length > 0) looks.push(clock.now() - beganMs);
    }
    expect(looks).to.include(11_500);
  });

  it("an id that a carrier uses again names the newer message", async () => {
    await store.saveSubmissions([submission()]);
    const newer = { messageId: "msg_01J00000000000000000000001" };
    await store.saveSubmissions([submission({ key: "k0" }), submission(newer)]);
    await matcher.take(receipt());
    expect(recorded[0]).to.include(newer);
  });

  it("messaging away: the receipt is parked, and recorded when it is back", async () => {
    await store.saveSubmissions([submission()]);
    isMessagingAway = true;
    await matcher.take(receipt());
    await matcher.sweep();
    expect(await store.countParked()).to.equal(1);
    isMessagingAway = false;
    clock.advance(5000);
    await matcher.sweep();
    expect(recorded).to.have.length(1);
    expect(await store.countParked()).to.equal(0);
  });

  it("without the store the carrier gets a refusal, so that it delivers again", async () => {
    const received = await current().withoutStore(() =>
      matcher.take(receipt()).then(
        () => "acknowledged",
        () => "refused",
      ),
    );
    expect(received).to.equal("refused");
  });

  it("a submit in doubt is found by its parties, not before its answer could have come", async () => {
    const { key: _, ...doubtful } = submission();
    await store.saveUnknowns([doubtful]);
    await matcher.take(receipt());
    await matcher.sweep();
    expect(recorded, "its own submit may still be under way").to.deep.equal([]);
    clock.advance(3500);
    await matcher.sweep();
    expect(recorded).to.have.length(1);
    await matcher.take(receipt());
    expect(recorded, "its id is known from now on").to.have.length(2);
  });

  it("a receipt of another system matches no submit that left after it came", async () => {
    const { key: _, ...doubtful } = submission();
    await matcher.take(receipt({ keys: ["of-another-system"] }));
    clock.advance(120_000);
    const times = { submittedAtMs: clock.now(), atMs: clock.now() + 1000 };
    await store.saveUnknowns([{ ...doubtful, ...times }]);
    clock.advance(5000);
    await matcher.sweep();
    expect(recorded).to.deep.equal([]);
    await matcher.take(receipt({ keys: ["own"] }));
    clock.advance(5000);
    await matcher.sweep();
    expect(recorded.map(({ messageId }) => messageId)).to.deep.equal([doubtful.messageId]);
    const unmatched = (await store.listUnmatched(10)).map((one) => one.receipt.keys);
    expect(unmatched).to.deep.equal([["of-another-system"]]);
  });

  it("a segment that was guessed stays a guess when messaging was away at first", async () => {
    const { key: _, ...unknown } = submission();
    await store.saveUnknowns([1, 2].map((segment) => ({ ...unknown, segment })));
    await matcher.take(receipt());
    clock.advance(5000);
    isMessagingAway = true;
    await matcher.sweep();
    isMessagingAway = false;
    clock.advance(5000);
    await matcher.sweep();
    await matcher.take(receipt());
    const guess = { segment: 1, isSegmentGuessed: true, partKey: "smsc|k1" };
    expect(recorded).to.have.length(2);
    for (const one of recorded) expect(one).to.include(guess);
  });

  it("each of several parts in doubt gets its own receipt after any number of attempts to match", async () => {
    const { key: _, ...unknown } = submission();
    await store.saveUnknowns([1, 2, 3].map((segment) => ({ ...unknown, segment })));
    const others = ["k1", "k2", "k3", "k1", "k2"].map((key) => receipt({ keys: [key] }));
    await store.park([...others, receipt()], clock.now(), partiesAfterMs);
    clock.advance(5000);
    await Promise.all([matcher.sweep(), matcher.sweep()]);
    const places = new Set(recorded.map(({ partKey, segment }) => `${partKey} ${segment}`));
    expect([...places].map((place) => place.at(-1)).toSorted()).to.deep.equal(["1", "2", "3"]);
    expect(await store.countParked()).to.equal(0);
  });

  it("messages that failed before the receipt hinder no other match, except one without an id", async () => {
    const { key: _, ...doubtful } = submission();
    const [failed, taken, open] = ["1", "2", "3"].map(
      (last) => `msg_01J0000000000000000000000${last}`,
    );
    await store.saveUnknowns([{ ...doubtful, messageId: failed as string }]);
    clock.advance(1_000_000);
    const second = "msg_01J00000000000000000000004";
    await store.saveUnknowns([{ ...doubtful, messageId: second, atMs: clock.now() }]);
    await matcher.take(receipt({ keys: ["k0"] }));
    clock.advance(5000);
    await matcher.sweep();
    expect(recorded, "its receipt may be this one").to.deep.equal([]);
    clock.advance(60_000);
    await matcher.sweep();
    clock.advance(4_000_000);
    const atMs = clock.now();
    await store.saveUnknowns([{ ...doubtful, messageId: open as string, atMs }]);
    await matcher.take(receipt({ occurredAtMs: atMs }));
    clock.advance(5000);
    await matcher.sweep();
    expect(recorded.map(({ messageId }) => messageId)).to.deep.equal([open]);

    const other = { ...doubtful, to: "2348030000000" };
    await store.saveUnknowns([{ ...other, messageId: taken as string, atMs, isTaken: true }]);
    clock.advance(3_600_000);
    await store.saveUnknowns([
      { ...other, messageId: failed as string, segment: 1, atMs: clock.now() },
    ]);
    await matcher.take(receipt({ keys: ["k2"], to: other.to }));
    clock.advance(5000);
    await matcher.sweep();
    expect(recorded.length, "either of the two may be meant").to.equal(1);
  });

  it("an id in another notation counts before the likeliest where it alone has the recipient", async () => {
    const [mine, other] = ["msg_01J00000000000000000000001", "msg_01J00000000000000000000002"];
    await store.saveSubmissions([
      submission({ key: "16", messageId: other, to: "2348030000000" }),
      submission({ key: "10", messageId: mine }),
    ]);
    await matcher.take(receipt({ keys: ["16", "10", "22"] }));
    expect(recorded.map(({ messageId }) => messageId)).to.deep.equal([mine]);
    await matcher.take(receipt({ keys: ["16", "10", "22"], to: "08031234567" }));
    expect(recorded.at(-1)?.messageId, "its national form").to.equal(mine);
    await matcher.take(receipt({ keys: ["16", "10", "22"], to: "08030000000" }));
    expect(recorded.at(-1)?.messageId).to.equal(other);
  });

  it("two messages in doubt that fit are none; the receipt ends among the unmatched", async () => {
    const { key: _, ...doubtful } = submission();
    await store.saveUnknowns([
      doubtful,
      { ...doubtful, messageId: "msg_01J00000000000000000000001" },
    ]);
    await matcher.take(receipt());
    clock.advance(61_000);
    await matcher.sweep();
    expect(recorded).to.deep.equal([]);
    expect(await store.countParked()).to.equal(0);
    const [unmatched] = await store.listUnmatched(10);
    expect(unmatched?.receipt.keys).to.deep.equal(["k1"]);
    expect(unmatched?.receivedAtMs).to.equal(clock.now() - 61_000);
  });
});
