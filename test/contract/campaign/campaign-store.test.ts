/** Conformance suite of the port `CampaignStore`, on MongoDB: campaigns, their transactions and their leases. */
import { expect } from "chai";
import type { CampaignFilter, CampaignStore, Work } from "../../../services/campaign/app/ports.ts";
import { ANY_SCOPE } from "../../../services/campaign/app/ports.ts";
import { type Campaign, transition } from "../../../services/campaign/domain/campaign.ts";
import { asAppError } from "../../../services/shared/core/errors.ts";
import { newId } from "../../../services/shared/core/ids.ts";
import {
  type CampaignStoreHarness,
  draftOf,
  MADE_MS,
  onRows,
  openCampaignStores,
  put,
  rowOf,
} from "../../support/campaign-store-harness.ts";

const LATER_MS = MADE_MS + 1000;
const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => "done",
    (error: unknown) => asAppError(error).code,
  );
const idsOf = (campaigns: readonly Campaign[]) => campaigns.map(({ id }) => id);

describe("the store of campaigns", () => {
  let harness: CampaignStoreHarness;
  let store: CampaignStore;
  let other: CampaignStore;
  before(async () => {
    harness = await openCampaignStores();
    [store, other] = harness.stores;
  });
  after(() => harness?.close());

  const find = (id: string) => store.find(ANY_SCOPE, id);
  const putMany = (...campaigns: readonly Campaign[]) =>
    Promise.all(campaigns.map((campaign) => put(store, campaign)));
  /** Changes the campaign as it is stored. */
  const change = (id: string, of: (campaign: Campaign) => Campaign, on = store) =>
    on.transact(id, async ({ campaign }) => ({ result: campaign, campaign: of(campaign) }));
  const started = (campaign: Campaign) => {
    const begun = transition(campaign, { kind: "start" }, LATER_MS);
    if (begun === undefined) throw new Error("it has begun before");
    return begun;
  };

  describe("a campaign", () => {
    it("is read as it was stored, with every field and with none that may be absent", async () => {
      const full = draftOf(
        {
          ...{ mode: "test", status: "paused", pauseReason: "budget_reached", takesBack: true },
          ...{ pausedAtMs: LATER_MS, startedAtMs: LATER_MS, endedAtMs: LATER_MS + 1 },
          ...{ openChunk: 3, openChunkMax: 2n ** 60n, nextChunk: 4, nextFeedAtMs: 12.5 },
        },
        {
          ...{ sendAtMs: LATER_MS, ratePerSecond: 7, budget: 2n ** 61n, quietHours: "reject" },
          clientReference: "order-1",
        },
      );
      for (const campaign of await putMany(draftOf(), full)) {
        expect(await find(campaign.id)).to.deep.equal(campaign);
      }
      expect(await find(newId("campaign"))).to.equal(undefined);
    });

    it("is seen by its tenant and in its mode alone, where a caller names them", async () => {
      const { id, tenantId } = await put(store, draftOf());
      for (const [scope, isSeen] of [
        [{ tenantId, mode: "live" }, true],
        [{ tenantId, mode: undefined }, true],
        [{ tenantId: undefined, mode: "live" }, true],
        [{ tenantId, mode: "test" }, false],
        [{ tenantId: newId("tenant"), mode: "live" }, false],
      ] as const) {
        expect((await store.find(scope, id)) !== undefined, JSON.stringify(scope)).to.equal(isSeen);
      }
    });

    it("is refused at the limit of open campaigns of its tenant and mode, also when several come at once", async () => {
      const tenantId = newId("tenant");
      await putMany(
        ...(["completed", "cancelled", "failed"] as const).map((status) =>
          draftOf({ tenantId, status }),
        ),
        draftOf({ tenantId, mode: "test" }),
        draftOf({ tenantId, status: "scheduled" }),
        draftOf({ tenantId, status: "running" }),
        draftOf({ tenantId, status: "paused" }),
      );
      const drafts = Array.from({ length: 12 }, () => draftOf({ tenantId }));
      const codes = await Promise.all(
        drafts.map((draft, at) =>
          codeOf((at % 2 === 0 ? store : other).create(draft, 5, undefined)),
        ),
      );
      expect(codes.filter((code) => code === "done")).to.have.length(2);
      expect(codes.filter((code) => code === "validation_error")).to.have.length(10);
      const found = await Promise.all(drafts.map(({ id }) => find(id)));
      expect(found.map((one) => one !== undefined)).to.deep.equal(
        codes.map((code) => code === "done"),
      );
    });

    it("is stored together with the answer to its key, and neither without the other", async () => {
      const tenantId = newId("tenant");
      const answerFor = (key: string) => ({
        ...{ scope: `${tenantId}|${key}`, fingerprint: new Uint8Array([1]) },
        response: new Uint8Array([2, 3]),
      });
      await store.create(draftOf({ tenantId }), 1, answerFor("first"));
      expect(await harness.answers.find(answerFor("first"))).to.deep.equal(new Uint8Array([2, 3]));
      const refused = store.create(draftOf({ tenantId }), 1, answerFor("second"));
      expect(await codeOf(refused)).to.equal("validation_error");
      expect(await harness.answers.find(answerFor("second"))).to.equal(undefined);
    });
  });

  it("lists a tenant's campaigns newest first, by mode and status, from an id on, up to a limit", async () => {
    const tenantId = newId("tenant");
    const [a, b, c, d] = [
      draftOf({ tenantId }),
      draftOf({ tenantId, status: "running" }),
      draftOf({ tenantId, mode: "test" }),
      draftOf({ tenantId, status: "completed" }),
    ];
    await putMany(a, b, c, d, draftOf());
    const list = async (more: Partial<CampaignFilter> = {}) => {
      const all = { tenantId, mode: undefined, statuses: [], limit: 10, beforeId: "" };
      return idsOf(await store.list({ ...all, ...more }));
    };
    expect(await list()).to.deep.equal(idsOf([d, c, b, a]));
    expect(await list({ mode: "live" })).to.deep.equal(idsOf([d, b, a]));
    expect(await list({ statuses: ["draft", "running"] })).to.deep.equal(idsOf([c, b, a]));
    expect(await list({ beforeId: c.id })).to.deep.equal(idsOf([b, a]));
    expect(await list({ limit: 2 })).to.deep.equal(idsOf([d, c]));
    expect(await list({ tenantId: newId("tenant") })).to.deep.equal([]);
  });

  describe("a transaction", () => {
    it("reads the campaign, writes it, and returns the result of the work", async () => {
      const draft = await put(store, draftOf());
      const content = { ...draft.content, name: "Summer" };
      expect(await change(draft.id, (campaign) => ({ ...campaign, content }))).to.deep.equal(draft);
      expect(await find(draft.id)).to.deep.equal({ ...draft, content });
    });

    it("does not run for a campaign that does not exist", async () => {
      const work = async (): Promise<Work<string>> => expect.fail("it ran");
      expect(await store.transact(newId("campaign"), work)).to.equal(undefined);
    });

    it("changes nothing when its work returns no campaign or fails", async () => {
      const draft = await put(store, draftOf());
      await onRows(store, draft.id, async () => undefined);
      const failing = store.transact(draft.id, async (tx) => {
        await tx.insertRows([rowOf(draft.rowSet, 0)]);
        await tx.insertChunk({
          ...{ campaignId: draft.id, number: 0, indexes: [0], heldMax: undefined },
        });
        await tx.discardRows();
        throw new Error("stop");
      });
      expect(await codeOf(failing)).to.equal("internal_error");
      expect(await find(draft.id)).to.deep.equal(draft);
      expect(await store.rowsByIndex(draft.rowSet, [0])).to.deep.equal([]);
      expect(await store.chunk(draft.id, 0)).to.equal(undefined);
      expect(await store.removeOld(0)).to.equal(false);
    });

    it("publishes the event of its transition once, and none without a transition or a commit", async () => {
      const draft = await put(store, draftOf());
      await change(draft.id, (campaign) => ({ ...campaign, nextRow: 1 }));
      await codeOf(
        store.transact(draft.id, async () => {
          throw new Error("stop");
        }),
      );
      await store.transact(draft.id, async ({ campaign }) => ({
        ...{ result: undefined, transition: started(campaign) },
      }));
      expect(await find(draft.id)).to.include({ status: "running", nextRow: 1 });
      expect(await harness.events(draft.tenantId)).to.deep.equal(["started"]);
    });

    it("excludes the others of its campaign, also those of other processes", async () => {
      const { id } = await put(store, draftOf());
      const add = (at: number) =>
        change(
          id,
          (campaign) => ({ ...campaign, nextRow: campaign.nextRow + 1 }),
          at % 2 === 0 ? store : other,
        );
      await Promise.all(Array.from({ length: 20 }, (_, at) => add(at)));
      expect((await find(id))?.nextRow).to.equal(20);
    });
  });

  describe("a hidden draft", () => {
    it("is found, listed, changed and counted no more, and is hidden once", async () => {
      const draft = await put(store, draftOf());
      const { id, tenantId } = draft;
      expect(await store.hide(id)).to.equal(true);
      expect(await store.hide(id)).to.equal(false);
      expect(await find(id)).to.equal(undefined);
      const all = { mode: undefined, statuses: [], limit: 10, beforeId: "" };
      expect(await store.list({ tenantId, ...all })).to.deep.equal([]);
      expect(await change(id, (campaign) => campaign)).to.equal(undefined);
      expect(await codeOf(store.create(draftOf({ tenantId }), 1, undefined))).to.equal("done");
    });

    it("was no campaign that had begun", async () => {
      const { id } = await put(store, draftOf({ status: "running" }));
      expect(await store.hide(id)).to.equal(false);
      expect(await find(id)).to.not.equal(undefined);
      expect(await store.hide(newId("campaign"))).to.equal(false);
    });
  });

  describe("work", () => {
    const owned = async (owner: string, nowMs: number, untilMs: number, on = store) =>
      idsOf(await on.leaseWork(owner, nowMs, untilMs, 200));
    /** Campaigns that earlier tests left have work too. */
    beforeEach(async () => {
      for (const { id } of await store.leaseWork("cleaner", 10_000, 10_001, 200)) {
        const ended = { status: "completed", openChunk: undefined, takesBack: false } as const;
        await change(id, (campaign) => ({ ...campaign, ...ended }));
      }
    });

    it("is what a running campaign, an open chunk and messages to take back leave", async () => {
      const [running, open, takesBack] = await putMany(
        draftOf({ status: "running" }),
        draftOf({ status: "paused", pauseReason: "customer", openChunk: 1 }),
        draftOf({ status: "cancelled", takesBack: true }),
        draftOf(),
        draftOf({ status: "scheduled" }),
        draftOf({ status: "paused", pauseReason: "customer" }),
        draftOf({ status: "completed" }),
      );
      const expected = idsOf([running, open, takesBack] as Campaign[]);
      expect(await owned("a", 1000, 2000)).to.have.members(expected);
    });

    it("is another process's only after its lease has ended or was released", async () => {
      const { id } = await put(store, draftOf({ status: "running" }));
      expect(await owned("a", 1000, 2000)).to.deep.equal([id]);
      expect(await owned("b", 1999, 3000, other)).to.deep.equal([]);
      expect(await owned("a", 1900, 2900)).to.deep.equal([id]);
      expect(await owned("b", 2899, 3900, other)).to.deep.equal([]);
      expect(await owned("b", 2900, 3900, other)).to.deep.equal([id]);
      await store.releaseLeases("a");
      expect(await owned("a", 2901, 3901)).to.deep.equal([]);
      await store.releaseLeases("b");
      expect(await owned("a", 2902, 3902)).to.deep.equal([id]);
    });

    it("keeps its lease while the campaign changes, and ends with the campaign", async () => {
      const { id } = await put(store, draftOf({ status: "running" }));
      await owned("a", 1000, 2000);
      await change(id, (campaign) => ({ ...campaign, nextFeedAtMs: 7 }), other);
      expect(await owned("b", 1500, 2500, other)).to.deep.equal([]);
      await change(id, (campaign) => ({ ...campaign, status: "completed" }));
      expect(await owned("a", 1500, 2500)).to.deep.equal([]);
    });

    it("is one process's each when several ask at once, and at most the limit of each", async () => {
      const all = await putMany(...Array.from({ length: 8 }, () => draftOf({ status: "running" })));
      const [first, second] = await Promise.all([
        owned("a", 1000, 2000),
        owned("b", 1000, 2000, other),
      ]);
      expect([...first, ...second]).to.have.members(idsOf(all));
      await store.releaseLeases("a");
      await store.releaseLeases("b");
      expect(await store.leaseWork("c", 1000, 2000, 3)).to.have.length(3);
    });
  });

  it("finds scheduled campaigns from their time on, and those that the service paused before an instant", async () => {
    const [due, late, paused] = await putMany(
      draftOf({ status: "scheduled" }, { sendAtMs: 5000 }),
      draftOf({ status: "scheduled" }, { sendAtMs: 5001 }),
      draftOf({ status: "paused", pauseReason: "insufficient_balance", pausedAtMs: 5000 }),
      draftOf({ status: "paused", pauseReason: "insufficient_balance", pausedAtMs: 5001 }),
      draftOf({ status: "paused", pauseReason: "customer", pausedAtMs: 4000 }),
      draftOf({ status: "running" }, { sendAtMs: 4000 }),
    );
    expect(await store.findDue(4999, 10)).to.deep.equal([]);
    expect(await store.findDue(5000, 10)).to.deep.equal([due?.id]);
    expect(await store.findDue(5001, 10)).to.have.members([due?.id, late?.id]);
    expect(await store.findDue(5001, 1)).to.have.length(1);
    expect(await store.findPausedBefore(5000, 10)).to.deep.equal([paused?.id]);
    expect(await store.findPausedBefore(9000, 1)).to.have.length(1);
  });
});
