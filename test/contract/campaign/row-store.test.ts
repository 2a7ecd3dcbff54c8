/** Conformance suite of the port `CampaignStore`, on MongoDB: rows and chunks. */
import { expect } from "chai";
import type { CampaignStore, Chunk } from "../../../services/campaign/app/ports.ts";
import { ANY_SCOPE } from "../../../services/campaign/app/ports.ts";
import { withoutRows } from "../../../services/campaign/domain/campaign.ts";
import type { Row, RowState } from "../../../services/campaign/domain/row.ts";
import type { RowStatus } from "../../../services/shared/core/campaign-status.ts";
import {
  type CampaignStoreHarness,
  draftOf,
  MADE_MS,
  onRows,
  openCampaignStores,
  put,
  rowOf,
} from "../../support/campaign-store-harness.ts";

const ROWS = 200;
/** Rows of one import: documents of states begin and end inside. */
const STEP = 33;
const PAGE = 7;

const error = { code: "invalid_recipient", message: "No." };
/** Each fifth row keeps waiting, a few fail, the first half of the others was delivered. */
function changed(row: Row): Row {
  const fed = { ...row, messageId: `msg_${row.index}`, messageAtMs: 1, held: 40_000n };
  if (row.index % 5 === 0) return { ...row, takenBack: ["msg_old"] };
  if (row.index % 31 === 1) return { ...row, status: "rejected", error };
  return row.index < ROWS / 2
    ? { ...fed, status: "delivered", amount: 40_000n }
    : { ...fed, status: "queued" };
}

function stateOf({ rowSet, to, variables, clientReference, ...state }: Row): RowState {
  return state;
}

describe("the rows of a campaign", function () {
  this.timeout(60_000);
  let harness: CampaignStoreHarness;
  let store: CampaignStore;
  const [first, second] = [draftOf(), draftOf()];
  const { rowSet } = first;
  const expected = Array.from({ length: ROWS }, (_, index) => changed(rowOf(rowSet, index)));

  before(async () => {
    harness = await openCampaignStores();
    [store] = harness.stores;
    for (const { id } of [await put(store, first), await put(store, second)]) {
      for (let at = 0; at < ROWS; at += STEP) {
        const count = Math.min(STEP, ROWS - at);
        const rows = Array.from({ length: count }, (_, place) => rowOf(id, at + place));
        await onRows(store, id, (tx) => tx.insertRows(rows));
      }
    }
    await onRows(store, first.id, async (tx) => {
      const stored = await tx.statesByIndex(expected.map(({ index }) => index));
      await tx.saveRows(
        expected.flatMap((after) => {
          const before = stored.get(after.index);
          return before === undefined ? [] : [{ before, after }];
        }),
      );
    });
  });
  after(() => harness?.close());

  const allOf = (set: string) =>
    store.rows({ rowSet: set, statuses: [], afterIndex: -1, limit: ROWS });
  const byPlace = (rows: readonly Row[]) => rows.toSorted((a, b) => a.index - b.index);

  async function pages(statuses: readonly RowStatus[]): Promise<Row[]> {
    const found: Row[] = [];
    for (;;) {
      const afterIndex = found.at(-1)?.index ?? -1;
      const page = await store.rows({ rowSet, statuses, afterIndex, limit: PAGE });
      if (page.length === 0) return found;
      found.push(...page);
    }
  }

  const indexes = [199, 3, 25, 0, 24];
  const wanted = [0, 3, 24, 25, 199].map((index) => expected[index] as Row);
  const numbers = [...wanted.map(({ to }) => to), "+2348039999999"];

  it("have the states that were saved last, by place and by number", async () => {
    expect(await store.rowsByIndex(rowSet, indexes)).to.deep.equal(wanted);
    expect(byPlace(await store.rowsByNumber(rowSet, numbers))).to.deep.equal(wanted);
    expect(await store.rowsByIndex(rowSet, [])).to.deep.equal([]);
    expect(await store.rowsByNumber(rowSet, [])).to.deep.equal([]);
  });

  it("give their states alone in a transaction, without places and numbers that are of no row", async () => {
    const byIndex = new Map(wanted.map((row) => [row.index, stateOf(row)]));
    const byNumber = new Map(wanted.map((row) => [row.to, stateOf(row)]));
    await onRows(store, first.id, async (tx) => {
      expect(await tx.statesByIndex([...indexes, ROWS + 50])).to.deep.equal(byIndex);
      expect(await tx.statesByNumber(numbers)).to.deep.equal(byNumber);
      expect((await tx.statesByIndex([])).size + (await tx.statesByNumber([])).size).to.equal(0);
    });
  });

  for (const statuses of [
    [],
    ["waiting"],
    ["rejected"],
    ["queued", "rejected"],
    ["cancelled"],
  ] satisfies RowStatus[][]) {
    it(`are listed in pages by the statuses ${statuses.join(", ") || "all"}`, async () => {
      const wanted = expected.filter(
        ({ status }) => statuses.length === 0 || statuses.some((one) => one === status),
      );
      expect(await pages(statuses)).to.deep.equal(wanted);
    });
  }

  it("that wait are given to the feeder in the order of their places, up to a limit", async () => {
    const waiting = expected.filter(({ status }) => status === "waiting");
    await onRows(store, first.id, async (tx) => {
      expect(await tx.firstWaiting(12)).to.deep.equal(waiting.slice(0, 12));
      expect(await tx.firstWaiting(ROWS)).to.deep.equal(waiting);
      expect(await tx.firstWaitingStates(12)).to.deep.equal(waiting.slice(0, 12).map(stateOf));
    });
  });

  it("have the same states by number once the feeder has read them", async () => {
    const waiting = expected.filter(({ status }) => status === "waiting");
    const ofAll = waiting.map(({ to }) => to);
    await onRows(store, first.id, async (tx) => {
      const fed = await tx.firstWaiting(waiting.length - 1);
      await tx.saveRows(fed.map((before) => ({ before, after: { ...before, status: "queued" } })));
      const found = await tx.statesByNumber(ofAll);
      expect([...found.keys()].toSorted()).to.deep.equal(ofAll.toSorted());
      for (const { to, index } of waiting) {
        const status = to === waiting.at(-1)?.to ? "waiting" : "queued";
        expect(found.get(to)).to.include({ index, status });
      }
      await tx.saveRows(fed.map((before) => ({ before, after: before })));
    });
    await onRows(store, second.id, async (tx) => {
      const found = await tx.statesByNumber(ofAll);
      expect([...found.values()].every(({ status }) => status === "waiting")).to.equal(true);
    });
  });

  it("of another campaign are others, although it has the same numbers", async () => {
    const rows = await allOf(second.rowSet);
    expect(rows).to.have.length(ROWS);
    expect(rows.every(({ status }) => status === "waiting")).to.equal(true);
  });

  it("are seen by their transaction as it changed them, and as they were when it fails", async () => {
    const [before] = await store.rowsByIndex(second.rowSet, [7]);
    if (before === undefined) throw new Error("no row");
    const failing = onRows(store, second.id, async (tx) => {
      await tx.saveRows([{ before, after: { ...before, status: "queued" } }]);
      expect((await tx.statesByIndex([7])).get(7)?.status).to.equal("queued");
      throw new Error("stop");
    });
    await failing.then(
      () => expect.fail("committed"),
      ({ message }: Error) => expect(message).to.equal("stop"),
    );
    expect(await store.rowsByIndex(second.rowSet, [7])).to.deep.equal([before]);
  });

  it("have one row of a number: a second is refused with all that its transaction wrote", async () => {
    const draft = await put(store, draftOf());
    await onRows(store, draft.id, (tx) => tx.insertRows([rowOf(draft.rowSet, 0)]));
    const again = { ...rowOf(draft.rowSet, 0), index: 2 };
    const refused = onRows(store, draft.id, (tx) => tx.insertRows([rowOf(draft.rowSet, 1), again]));
    expect(
      await refused.then(
        () => "stored",
        () => "refused",
      ),
    ).to.equal("refused");
    expect(await allOf(draft.rowSet)).to.deep.equal([rowOf(draft.rowSet, 0)]);
  });

  describe("in a chunk", () => {
    const chunk = (number: number, heldMax?: bigint): Chunk => ({
      ...{ campaignId: first.id, number, indexes: [3, 5, 8], heldMax },
    });

    it("are read as the chunk was stored, by its number", async () => {
      await onRows(store, first.id, async (tx) => {
        await tx.insertChunk(chunk(0));
        await tx.insertChunk(chunk(1, 2n ** 60n));
      });
      expect(await store.chunk(first.id, 0)).to.deep.equal(chunk(0));
      expect(await store.chunk(first.id, 1)).to.deep.equal(chunk(1, 2n ** 60n));
      expect(await store.chunk(first.id, 2)).to.equal(undefined);
      expect(await store.chunk(second.id, 0)).to.equal(undefined);
    });

    it("are in one chunk of a number: a second is refused", async () => {
      await onRows(store, first.id, (tx) => tx.insertChunk(chunk(5)));
      const refused = onRows(store, first.id, (tx) => tx.insertChunk(chunk(5, 1n)));
      expect(
        await refused.then(
          () => "stored",
          () => "refused",
        ),
      ).to.equal("refused");
      expect(await store.chunk(first.id, 5)).to.deep.equal(chunk(5));
    });
  });

  describe("are removed", () => {
    /** Everything that is to be removed; the number of steps has a bound. */
    async function removeAll(endedBeforeMs: number): Promise<void> {
      for (let step = 0; await store.removeOld(endedBeforeMs); step += 1) {
        if (step > 20) throw new Error("there is always more to remove");
      }
    }
    /** A campaign with two rows and a chunk. */
    async function filled(about: Parameters<typeof draftOf>[0]) {
      const campaign = await put(store, draftOf(about));
      await onRows(store, campaign.id, async (tx) => {
        await tx.insertRows([0, 1].map((index) => rowOf(campaign.rowSet, index)));
        await tx.insertChunk({
          ...{ campaignId: campaign.id, number: 0, indexes: [0, 1], heldMax: undefined },
        });
      });
      return campaign;
    }
    const left = async ({ id, rowSet: set }: { id: string; rowSet: string }) => ({
      rows: (await allOf(set)).length,
      isChunkThere: (await store.chunk(id, 0)) !== undefined,
    });

    it("when their set was discarded; the campaign's new set takes the same numbers at once", async () => {
      const draft = await put(store, draftOf());
      await onRows(store, draft.id, (tx) => tx.insertRows([rowOf(draft.rowSet, 0)]));
      const cleared = withoutRows(draft, MADE_MS + 1);
      await store.transact(draft.id, async (tx) => {
        await tx.discardRows();
        return { result: undefined, campaign: cleared };
      });
      expect(await allOf(cleared.rowSet)).to.deep.equal([]);
      await onRows(store, draft.id, (tx) => tx.insertRows([rowOf(cleared.rowSet, 0)]));
      await removeAll(0);
      expect(await allOf(draft.rowSet)).to.deep.equal([]);
      expect(await allOf(cleared.rowSet)).to.deep.equal([rowOf(cleared.rowSet, 0)]);
    });

    it("with the chunks of a hidden campaign, and of one that ended before an instant, and no others", async () => {
      const [early, late, running, hidden] = [
        await filled({ status: "completed", endedAtMs: 5000 }),
        await filled({ status: "cancelled", endedAtMs: 5001 }),
        await filled({ status: "running" }),
        await filled({}),
      ];
      await store.hide(hidden.id);
      await removeAll(5000);
      const nothing = { rows: 0, isChunkThere: false };
      const everything = { rows: 2, isChunkThere: true };
      expect(await left(early), "ended early").to.deep.equal(nothing);
      expect(await left(hidden), "hidden").to.deep.equal(nothing);
      expect(await left(late), "ended later").to.deep.equal(everything);
      expect(await left(running), "running").to.deep.equal(everything);
      expect(await store.find(ANY_SCOPE, early.id)).to.deep.equal(early);
    });

    it("never while the campaign still has messages to take back", async () => {
      const campaign = await filled({ status: "cancelled", endedAtMs: 1, takesBack: true });
      await removeAll(5000);
      expect((await left(campaign)).rows).to.equal(2);
    });
  });
});
