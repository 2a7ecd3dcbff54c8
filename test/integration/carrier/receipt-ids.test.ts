/** Receipts whose id several submissions have, against the real store. */
import { expect } from "chai";
import type { Submission } from "../../../services/carrier/domain/submission.ts";
import { openReceiptSuite, type ReceiptTest } from "../../support/receipt-suite.ts";

describe("receipts whose id several submissions have", () => {
  const { clock, current, receipt, submission } = openReceiptSuite("receipt_ids");
  let { store, recent, matcher, recorded, contradicted } = {} as ReceiptTest;

  beforeEach(() => {
    ({ store, recent, matcher, recorded, contradicted } = current());
  });

  const [messageA, messageB] = ["msg_01J0000000000000000000000A", "msg_01J0000000000000000000000B"];
  const numberB = "2348037654321";
  const recordedIds = () => recorded.map(({ messageId }) => messageId);

  for (const where of ["in memory", "in the store", "in both"]) {
    it(`of two submits with one id, ${where}, each gets the receipt with its own number`, async () => {
      const both = [
        submission({ messageId: messageA }),
        submission({ messageId: messageB, to: numberB }),
      ];
      for (const one of both) if (where !== "in the store") recent.add(one, Promise.resolve());
      if (where !== "in memory") for (const one of both) await store.saveSubmissions([one]);
      await matcher.take(receipt());
      await matcher.take(receipt({ to: numberB }));
      await matcher.take(receipt({ to: `+${numberB}` }));
      await matcher.take(receipt({ to: "08031234567" }));
      expect(recordedIds()).to.deep.equal([messageA, messageB, messageB, messageA]);
    });
  }

  it("submits with one id that are stored at once are all kept, and storing them again adds none", async () => {
    const many = Array.from({ length: 40 }, (_, at) =>
      submission({
        messageId: `msg_01J000000000000000000000${10 + at}`,
        to: `23480300000${10 + at}`,
      }),
    );
    await Promise.all(
      [many, many.slice(0, 20), many.slice(20)].map((some) => store.saveSubmissions(some)),
    );
    const found = (await store.findSubmissions(["smsc|k1"])).get("smsc|k1") ?? [];
    const ids = (some: readonly Submission[]) => some.map(({ messageId }) => messageId).toSorted();
    expect(ids(found)).to.deep.equal(ids(many));
  });

  it("a receipt with the id of a submission and another number is parked, counted and never believed", async () => {
    await store.saveSubmissions([submission()]);
    await matcher.take(receipt({ to: numberB }));
    clock.advance(30_000);
    await matcher.sweep();
    expect(recorded).to.deep.equal([]);
    expect(contradicted).to.have.length(1);
    clock.advance(60_000);
    await matcher.sweep();
    expect((await store.listUnmatched(10)).length).to.equal(1);
  });

  it("a receipt of a parked id waits for the submit to its own number", async () => {
    await matcher.take(receipt({ to: numberB }));
    const [own, other] = [submission({ messageId: messageB, to: numberB }), submission()];
    for (const one of [other, own]) {
      await store.saveSubmissions([one]);
      matcher.onStored([one]);
      await matcher.sweep();
    }
    clock.advance(3000);
    await matcher.sweep();
    expect(recordedIds()).to.deep.equal([messageB]);
  });

  for (const to of ["", "23480****567", "demo", "MTN"]) {
    it(`a receipt from "${to}" is believed when one message alone has its id`, async () => {
      await store.saveSubmissions([submission({ messageId: messageA })]);
      await matcher.take(receipt({ to }));
      expect(recordedIds()).to.deep.equal([messageA]);
      await store.saveSubmissions([submission({ messageId: messageB, to: numberB })]);
      await matcher.take(receipt({ to }));
      expect(recordedIds()).to.deep.equal([messageA]);
    });
  }

  it("two messages to one number with one id get their receipts in the order of the submits", async () => {
    for (const messageId of [messageA, messageB]) {
      recent.add(submission({ messageId }), Promise.resolve());
    }
    await matcher.take(receipt());
    await matcher.take(receipt({ verdict: "undelivered" }));
    expect(recordedIds()).to.deep.equal([messageA, messageB]);
  });

  describe("with one id for all parts of a message", () => {
    const parts = [1, 2, 3].map((segment) => submission({ segment, parts: 3 }));
    const counted = () =>
      recorded.map(({ segment, isSegmentGuessed }) => [segment, isSegmentGuessed]);
    const sharedKeys = () => recorded.map(({ partKey }) => partKey);

    beforeEach(async () => {
      for (const part of parts) recent.add({ ...part, atMs: clock.now() }, Promise.resolve());
      await store.saveSubmissions(parts);
    });

    it("each receipt counts for the next part, and nothing is left when all have come", async () => {
      for (let count = 0; count < 3; count += 1) await matcher.take(receipt());
      expect(counted()).to.deep.equal([
        [1, true],
        [1, true],
        [1, true],
      ]);
      expect(new Set(sharedKeys())).to.deep.equal(new Set([""]));
    });

    it("one delivery counts for the rest when no other receipt follows within five seconds", async () => {
      await matcher.take(receipt());
      await matcher.sweep();
      expect(counted()).to.deep.equal([[1, true]]);
      clock.advance(5000);
      await matcher.sweep();
      expect(recorded.at(-1)).to.include({ segment: 0, parts: 3, isSegmentGuessed: true });
      expect(await store.countParked()).to.equal(0);
    });

    it("a failure counts at once and for no other part", async () => {
      await matcher.take(receipt({ verdict: "undelivered" }));
      clock.advance(5000);
      await matcher.sweep();
      expect(counted()).to.deep.equal([[1, true]]);
    });
  });
});
