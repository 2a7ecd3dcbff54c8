/** Conformance suite of the port `SubmissionStore`, on MongoDB. */
import { expect } from "chai";
import type { SubmissionStore } from "../../../services/carrier/app/ports.ts";
import type { Submission, UnknownSubmission } from "../../../services/carrier/domain/submission.ts";
import { submissionName } from "../../../services/carrier/domain/submission.ts";
import { migrate } from "../../../services/carrier/migrate.ts";
import { createSubmissionStore } from "../../../services/carrier/store/submissions.ts";
import { incomingReceipt, submissionOf } from "../../support/carrier-messages.ts";
import { openTestDatabase, type TestDatabase } from "../../support/test-database.ts";

// The real time: an index removes receipts and submissions after some days.
const NOW_MS = Date.now();
const MINUTE_MS = 60_000;

describe("the store of submissions", () => {
  let database: TestDatabase;
  let store: SubmissionStore;
  let serial = 0;
  before(async () => {
    database = await openTestDatabase("carrier_submissions", migrate);
    store = createSubmissionStore(database.mongo.db);
  });
  after(() => database?.close());

  /** A connector that no other test uses. */
  function ownConnector(): string {
    serial += 1;
    return `smsc-${serial}`;
  }
  const messageId = (at: number) => `msg_01J000000000000000000${String(at).padStart(5, "0")}`;

  describe("a submission", () => {
    it("is found by its connector and carrier id, as it was saved", async () => {
      const connectorId = ownConnector();
      const items: Submission[] = [
        submissionOf({ connectorId, key: "a|b", atMs: NOW_MS }),
        submissionOf({
          ...{ connectorId, key: "c", atMs: NOW_MS, segment: 2, parts: 3, isSegmentGuessed: true },
        }),
      ];
      await store.saveSubmissions(items);
      await store.saveSubmissions([]);
      const names = items.map(({ key }) => submissionName(connectorId, key));
      const found = await store.findSubmissions([...names, submissionName(ownConnector(), "a|b")]);
      expect([...found]).to.have.deep.members(items.map((item, at) => [names[at], [item]]));
      expect([...(await store.findSubmissions([]))]).to.deep.equal([]);
    });

    it("is kept with earlier ones of its id, oldest first, and replaces its own when saved again", async () => {
      const connectorId = ownConnector();
      const [a, b] = [1, 2].map((at) =>
        submissionOf({ connectorId, key: "k", messageId: messageId(at), atMs: NOW_MS + at }),
      ) as [Submission, Submission];
      const of = async () =>
        (await store.findSubmissions([`${connectorId}|k`])).get(`${connectorId}|k`);
      await store.saveSubmissions([a]);
      await store.saveSubmissions([b, b]);
      expect(await of()).to.deep.equal([a, b]);
      const later = { ...a, atMs: NOW_MS + 9 };
      await store.saveSubmissions([later]);
      expect(await of()).to.deep.equal([b, later]);
    });

    it("is one of the newest thousand with its id", async () => {
      const connectorId = ownConnector();
      const items = Array.from({ length: 1003 }, (_, at) =>
        submissionOf({ connectorId, key: "k", messageId: messageId(at), atMs: NOW_MS + at }),
      );
      await store.saveSubmissions(items);
      const found = (await store.findSubmissions([`${connectorId}|k`])).get(`${connectorId}|k`);
      expect(found).to.deep.equal(items.slice(-1000));
    });

    it("is listed by its connector since an instant, newest first, up to a limit", async () => {
      const connectorId = ownConnector();
      const items = [3, 1, 2].map((at) =>
        submissionOf({ connectorId, key: `k${at}`, messageId: messageId(at), atMs: NOW_MS + at }),
      );
      await store.saveSubmissions([...items, submissionOf({ connectorId: ownConnector() })]);
      const list = async (sinceMs: number, max: number) =>
        (await store.listSubmissions(connectorId, sinceMs, max)).map(({ atMs }) => atMs - NOW_MS);
      expect(await list(0, 10)).to.deep.equal([3, 2, 1]);
      expect(await list(NOW_MS + 2, 10)).to.deep.equal([3, 2]);
      expect(await list(0, 1)).to.deep.equal([3]);
    });
  });

  describe("a submit without a carrier id", () => {
    const unknownOf = (connectorId: string, about: Partial<UnknownSubmission> = {}) => {
      const { key: _key, isSegmentGuessed: _guessed, ...submit } = submissionOf({ connectorId });
      serial += 1;
      return { ...submit, messageId: messageId(serial), atMs: NOW_MS, ...about };
    };
    const find = (
      { connectorId, to, from }: UnknownSubmission,
      times: {
        readonly inDoubtSinceMs?: number;
        readonly takenSinceMs?: number;
        readonly submittedUntilMs?: number;
      } = {},
    ) => {
      const since = { inDoubtSinceMs: NOW_MS, takenSinceMs: NOW_MS, submittedUntilMs: NOW_MS };
      return store.findUnknowns({ connectorId, to, from, ...since, ...times });
    };

    it("is found by its connector, recipient and sender, as it was saved", async () => {
      const connectorId = ownConnector();
      const plain = unknownOf(connectorId);
      const taken = unknownOf(connectorId, { segment: 2, parts: 3, isTaken: true });
      await store.saveUnknowns([plain, taken]);
      await store.saveUnknowns([]);
      expect(await find(plain)).to.have.deep.members([{ ...plain, isTaken: false }, taken]);
      for (const about of [
        { connectorId: ownConnector() },
        { to: "2348099999999" },
        { from: "other" },
      ]) {
        expect(await find({ ...plain, ...about }), JSON.stringify(about)).to.deep.equal([]);
      }
    });

    it("is in doubt or taken since the instant of its kind", async () => {
      const connectorId = ownConnector();
      const inDoubt = unknownOf(connectorId, { atMs: NOW_MS });
      const taken = unknownOf(connectorId, { atMs: NOW_MS, isTaken: true });
      await store.saveUnknowns([inDoubt, taken]);
      const found = async (inDoubtSinceMs: number, takenSinceMs: number) =>
        (await find(inDoubt, { inDoubtSinceMs, takenSinceMs })).map((one) => one.messageId);
      expect(await found(NOW_MS + 1, NOW_MS)).to.deep.equal([taken.messageId]);
      expect(await found(NOW_MS + 1, NOW_MS + 1)).to.deep.equal([]);
      // A taken one is found by the earlier of the two.
      expect(await found(NOW_MS, NOW_MS + 1)).to.have.members([inDoubt.messageId, taken.messageId]);
    });

    it("is left out when it is known to be submitted later", async () => {
      const item = unknownOf(ownConnector(), { submittedAtMs: NOW_MS + 7 });
      const count = async (submittedUntilMs: number) =>
        (await find(item, { submittedUntilMs })).length;
      await store.saveUnknowns([item]);
      expect([await count(NOW_MS + 6), await count(NOW_MS + 7)]).to.deep.equal([0, 1]);
      // It was submitted once; the earlier of two times is nearer to the truth.
      await store.saveUnknowns([{ ...item, submittedAtMs: NOW_MS + 9 }]);
      await store.saveUnknowns([unknownOf(item.connectorId)]);
      expect([await count(NOW_MS + 6), await count(NOW_MS + 7)]).to.deep.equal([1, 2]);
      await store.saveUnknowns([{ ...item, submittedAtMs: NOW_MS + 3 }]);
      expect([await count(NOW_MS + 2), await count(NOW_MS + 3)]).to.deep.equal([1, 2]);
    });

    it("has its latest time when it is saved again, and stays taken", async () => {
      const item = unknownOf(ownConnector());
      for (const [about, expected] of [
        [{ atMs: NOW_MS + 5 }, { atMs: NOW_MS + 5, isTaken: false }],
        [
          { atMs: NOW_MS + 2, isTaken: true },
          { atMs: NOW_MS + 5, isTaken: true },
        ],
        [{ atMs: NOW_MS + 9 }, { atMs: NOW_MS + 9, isTaken: true }],
      ]) {
        await store.saveUnknowns([{ ...item, ...about }]);
        expect(await find(item)).to.deep.equal([{ ...item, ...expected }]);
      }
    });

    it("gets one carrier id, of the first receipt that asks, and none when it is gone", async () => {
      const item = unknownOf(ownConnector());
      await store.saveUnknowns([item]);
      const assigned = await Promise.all(["a", "b", "c"].map((key) => store.assignKey(item, key)));
      expect(assigned.filter(Boolean)).to.have.length(1);
      const assignedKey = ["a", "b", "c"][assigned.indexOf(true)];
      expect(await find(item)).to.deep.equal([{ ...item, isTaken: false, assignedKey }]);
      await store.removeUnknowns([item, item]);
      await store.removeUnknowns([]);
      expect(await find(item)).to.deep.equal([]);
      expect(await store.assignKey(item, "d")).to.equal(false);
    });
  });

  describe("a parked receipt", () => {
    const receiptOf = (connectorId: string, keys: readonly string[] = ["k"]) =>
      incomingReceipt({ connectorId, keys });
    const park = (connectorId: string, keys?: readonly string[], waitMs?: number) =>
      store.park([receiptOf(connectorId, keys)], NOW_MS, () => 3000, waitMs);
    const namesOf = (connectorId: string) => [submissionName(connectorId, "k")];
    /** The connector's receipts that are due. */
    const take = async (connectorId: string, atMs: number) =>
      (await store.takeDueParked(atMs, 1000)).filter(
        ({ receipt }) => receipt.connectorId === connectorId,
      );
    afterEach(async () => {
      const left = await store.takeDueParked(NOW_MS + 365 * 86_400_000, 1000);
      await store.removeParked(left.map(({ id }) => id));
    });

    it("is found by each of its carrier ids, as it was parked, until it is removed", async () => {
      const connectorId = ownConnector();
      await park(connectorId, ["j", "k"]);
      await store.park([], NOW_MS, () => 0);
      const found = await store.findParked([
        submissionName(connectorId, "j"),
        ...namesOf(connectorId),
      ]);
      expect(found.map(({ receipt, parkedAtMs }) => ({ receipt, parkedAtMs }))).to.deep.equal([
        { receipt: receiptOf(connectorId, ["j", "k"]), parkedAtMs: NOW_MS },
      ]);
      expect(await store.findParked(namesOf(ownConnector()))).to.deep.equal([]);
      expect(await store.countParked()).to.equal(1);
      await store.removeParked(found.map(({ id }) => id));
      await store.removeParked([]);
      expect(await store.findParked(namesOf(connectorId))).to.deep.equal([]);
      expect(await store.countParked()).to.equal(0);
    });

    it("is due at once or after its wait, and again after half its age, from 1 s to 2 min", async () => {
      const [atOnce, waits] = [ownConnector(), ownConnector()];
      await park(atOnce);
      await park(waits, ["k"], 5000);
      expect(await take(atOnce, NOW_MS)).to.have.length(1);
      expect(await take(waits, NOW_MS + 4999)).to.have.length(0);
      expect(await take(waits, NOW_MS + 5000)).to.have.length(1);
      const connectorId = ownConnector();
      await park(connectorId);
      // Taken at each of these times, milliseconds after it came; due after the second, and not a millisecond before.
      for (const [atMs, nextMs] of [
        [0, 1000],
        [1000, 2000],
        // Not after the time from which it may be matched by recipient and sender.
        [2500, 3000],
        [3000, 4500],
        [60 * MINUTE_MS, 62 * MINUTE_MS],
        [62 * MINUTE_MS, 64 * MINUTE_MS],
      ] as const) {
        expect(await take(connectorId, NOW_MS + atMs), `${atMs}`).to.have.length(1);
        expect(await take(connectorId, NOW_MS + nextMs - 1), `${nextMs} - 1`).to.have.length(0);
      }
    });

    it("is taken by one process of several, the oldest due first, up to a limit", async () => {
      const connectorId = ownConnector();
      for (const waitMs of [30, 10, 20]) await park(connectorId, [`k${waitMs}`], waitMs);
      const keysOf = (some: Awaited<ReturnType<typeof store.takeDueParked>>) =>
        some.map(({ receipt }) => receipt.keys[0]);
      expect(keysOf(await store.takeDueParked(NOW_MS + 30, 2))).to.deep.equal(["k10", "k20"]);
      const takes = await Promise.all([1, 2, 3].map(() => take(connectorId, NOW_MS + 30)));
      expect(keysOf(takes.flat())).to.deep.equal(["k30"]);
    });

    it("that is given up is listed for operators, newest first, and once after several calls", async () => {
      const connectorId = ownConnector();
      await park(connectorId);
      await store.park([receiptOf(connectorId)], NOW_MS + 1, () => 3000);
      const parked = await store.findParked(namesOf(connectorId));
      await store.giveUpParked(parked);
      // The process stopped before it removed them, and another gives them up again.
      await store.giveUpParked(parked);
      await store.giveUpParked([]);
      expect(await store.findParked(namesOf(connectorId))).to.deep.equal([]);
      const unmatched = (await store.listUnmatched(10)).map(({ receivedAtMs }) => receivedAtMs);
      expect(unmatched).to.deep.equal([NOW_MS + 1, NOW_MS]);
      expect(await store.listUnmatched(1)).to.deep.equal([
        { receipt: receiptOf(connectorId), receivedAtMs: NOW_MS + 1 },
      ]);
    });
  });
});
