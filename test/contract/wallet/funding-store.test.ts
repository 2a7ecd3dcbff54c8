/** Conformance suite of the port `FundingStore`, on MongoDB. */
import { expect } from "chai";
import { newId } from "../../../services/shared/core/ids.ts";
import type { FundingQuery, FundingStore } from "../../../services/wallet/app/fundings.ts";
import {
  FUNDING_WINDOW_MS,
  type Funding,
  type FundingState,
  stateAfterRequest,
  WINDOW_FUNDINGS_MAX,
} from "../../../services/wallet/domain/funding-request.ts";
import { migrate } from "../../../services/wallet/migrate.ts";
import { createFundingStore } from "../../../services/wallet/store/funding-store.ts";
import { codeOf, useStoreDatabase } from "../../support/store-suite.ts";

const AT_MS = Date.now();
const BOB = "bob@example.org";

describe("the store of fundings", () => {
  const database = useStoreDatabase("funding_store", migrate);
  let store: FundingStore;
  let other: FundingStore;
  before(() => {
    const { client, db, audit } = database.parts();
    store = createFundingStore(client, db, audit);
    other = createFundingStore(client, db, audit);
  });

  type Wanted = Omit<Funding, "state">;
  const newPerson = () => `${newId("person").toLowerCase()}@example.org`;
  /** A request of a person of its own. */
  const wantedOf = (about: Partial<Wanted> = {}): Wanted => ({
    ...{ id: newId("funding"), tenantId: newId("tenant"), amount: 5n, currency: "NGN" },
    ...{ reason: "invoice 7", requestedBy: newPerson(), requestedAtMs: AT_MS },
    ...{ decidedBy: "", decidedAtMs: 0, failure: "", ...about },
  });
  const insert = (wanted: Wanted, state: FundingState = "pending", on = store) =>
    on.insert(wanted, newId("request"), () => state);
  const decisionOf = (before: Funding, about: Partial<Funding> = {}): Funding => ({
    ...{ ...before, state: "approved", decidedBy: BOB, decidedAtMs: AT_MS + 5, ...about },
  });

  describe("a request", () => {
    it("is stored in the state that is decided, beyond 2^53, with an audit entry", async () => {
      const wanted = wantedOf({ amount: 9_007_199_254_740_993n });
      const stored = await insert(wanted);
      expect(stored).to.deep.equal({ ...wanted, state: "pending" });
      expect(await other.find(wanted.id)).to.deep.equal(stored);
      expect(await store.find(newId("funding"))).to.equal(undefined);
      const [entry, ...more] = await database.auditOf(wanted.id);
      expect(more).to.deep.equal([]);
      expect(entry?.before).to.equal(undefined);
      expect(entry?.after).to.include({ state: "pending", amount: "9007199254740993" });
    });

    it("under a key that its person has used is the first one, also of many at once on two processes", async () => {
      const [key, first] = [newId("request"), wantedOf()];
      const repeats = Array.from({ length: 8 }, () => ({ ...first, id: newId("funding") }));
      const stored = await Promise.all(
        repeats.map((wanted, at) => (at % 2 ? store : other).insert(wanted, key, () => "pending")),
      );
      const [funding] = stored;
      expect(stored).to.deep.equal(stored.map(() => funding));
      const query = { tenantId: first.tenantId, states: [], limit: 10, beforeId: "" };
      expect(await store.list(query)).to.deep.equal([funding]);
      const trails = await Promise.all(repeats.map(({ id }) => database.auditOf(id)));
      expect(trails.flat()).to.have.length(1);

      // As after a lost answer: the state that the first one has by now.
      await store.saveDecision(funding as Funding, decisionOf(funding as Funding));
      const late = {
        ...first,
        id: newId("funding"),
        reason: "another text",
        requestedAtMs: AT_MS + 9,
      };
      const repeated = await store.insert(late, key, () => "pending");
      expect(repeated).to.deep.equal(decisionOf(funding as Funding));
    });

    it("under a used key for another amount or tenant is refused, and stores nothing", async () => {
      const [key, first] = [newId("request"), wantedOf()];
      await store.insert(first, key, () => "pending");
      for (const change of [{ amount: 6n }, { tenantId: newId("tenant") }]) {
        const wanted = { ...first, ...change, id: newId("funding") };
        const refused = store.insert(wanted, key, () => "approved");
        expect(await codeOf(refused)).to.equal("idempotency_key_reused");
        expect(await store.find(wanted.id)).to.equal(undefined);
      }
      const wanted = wantedOf({ tenantId: first.tenantId });
      const stored = await store.insert(wanted, key, () => "pending");
      expect(stored.id, "of another person").to.equal(wanted.id);
    });

    it("is not stored when the decision throws, and its key is free", async () => {
      const [key, wanted] = [newId("request"), wantedOf()];
      const failed = store.insert(wanted, key, () => {
        throw new Error("no");
      });
      expect(await codeOf(failed)).to.equal("internal_error");
      expect(await store.find(wanted.id)).to.equal(undefined);
      expect(await database.auditOf(wanted.id)).to.deep.equal([]);
      expect((await store.insert(wanted, key, () => "approved")).state).to.equal("approved");
    });
  });

  describe("the earlier fundings of a person", () => {
    /** The ids of the fundings that the decision gets. */
    async function recentOf(wanted: Wanted): Promise<string[]> {
      let ids: string[] = [];
      await store.insert(wanted, newId("request"), (recent) => {
        ids = recent.map(({ id }) => id);
        return "pending";
      });
      return ids;
    }

    it("are those of the currency within the window, in any state and of any tenant, as they are stored", async () => {
      const requestedBy = newPerson();
      const add = (about: Partial<Wanted>, state: FundingState = "pending") =>
        insert(wantedOf({ requestedBy, ...about }), state);
      await add({ requestedAtMs: AT_MS - FUNDING_WINDOW_MS });
      await add({ currency: "USD" });
      await insert(wantedOf());
      const own = [
        await add({ requestedAtMs: AT_MS - FUNDING_WINDOW_MS + 1 }),
        await add({}, "approved"),
      ];
      const decided = decisionOf(own[0] as Funding, { state: "refused" });
      await store.saveDecision(own[0] as Funding, decided);
      let given: readonly Funding[] = [];
      await store.insert(wantedOf({ requestedBy }), newId("request"), (recent) => {
        given = recent;
        return "pending";
      });
      expect(given).to.have.deep.members([decided, own[1]]);
    });

    it("are at most the limit, read by an index", async () => {
      const wanted = wantedOf();
      await insert(wanted);
      const { db } = database.parts();
      const fundings = db.collection<{ _id: string }>("fundings", { promoteLongs: false });
      const [stored] = await fundings.find({ _id: wanted.id }).toArray();
      const copies = Array.from({ length: WINDOW_FUNDINGS_MAX + 1 }, (_, at) => ({
        ...{ ...stored, _id: newId("funding"), key: `copy ${at}` },
      }));
      await fundings.insertMany(copies);
      const ids = await recentOf({ ...wanted, id: newId("funding") });
      expect(ids).to.have.length(WINDOW_FUNDINGS_MAX);
      const { requestedBy: requested_by, currency } = wanted;
      const own = { requested_by, currency, requested_at: { $gt: new Date(0) } };
      const found = fundings.find(own).sort({ requested_at: -1 });
      const { winningPlan } = (await found.explain("queryPlanner")).queryPlanner;
      expect(JSON.stringify(winningPlan))
        .to.contain('"indexName":"recent"')
        .and.not.contain("SORT");
    });

    it("are seen by the next of many requests at once on two processes: together they keep a limit", async () => {
      const requestedBy = newPerson();
      const stored = await Promise.all(
        Array.from({ length: 12 }, (_, at) =>
          (at % 2 ? store : other).insert(wantedOf({ requestedBy }), `at once ${at}`, (recent) =>
            stateAfterRequest(5n, recent, 20n),
          ),
        ),
      );
      expect(stored.filter(({ state }) => state === "approved")).to.have.length(4);
    });
  });

  describe("a decision", () => {
    it("is stored once, of many at once on two processes, with one audit entry", async () => {
      for (let round = 0; round < 5; round += 1) {
        const before = await insert(wantedOf());
        const wanted = Array.from({ length: 8 }, (_, at) =>
          decisionOf(before, {
            ...({ state: at % 4 < 2 ? "approved" : "refused" } as const),
            decidedBy: `p${at}@example.org`,
          }),
        );
        const saved = await Promise.all(
          wanted.map((after, at) => (at % 2 ? store : other).saveDecision(before, after)),
        );
        const [after, ...more] = wanted.filter((_, at) => saved[at]);
        expect(more).to.deep.equal([]);
        expect(await store.find(before.id)).to.deep.equal(after);
        expect(await database.auditOf(before.id)).to.have.length(2);
      }
    });

    it("on one that is not pending changes nothing", async () => {
      for (const state of ["approved", "funded", "refused", "failed"] as const) {
        const before = await insert(wantedOf(), state);
        expect(await store.saveDecision(before, decisionOf(before)), state).to.equal(false);
        expect(await store.find(before.id)).to.deep.equal(before);
        expect(await database.auditOf(before.id)).to.have.length(1);
      }
      const unknown: Funding = { ...wantedOf(), state: "pending" };
      expect(await store.saveDecision(unknown, decisionOf(unknown))).to.equal(false);
    });

    it("of the person who asked is stored as a refusal alone: the database rejects the approval", async () => {
      const before = await insert(wantedOf());
      const own = decisionOf(before, { decidedBy: before.requestedBy });
      expect(await codeOf(store.saveDecision(before, own))).not.to.equal("done");
      expect(await store.find(before.id)).to.deep.equal(before);
      const refusal = { ...own, state: "refused" } as const;
      expect(await store.saveDecision(before, refusal)).to.equal(true);
      expect(await store.find(before.id)).to.deep.equal(refusal);
    });
  });

  it("stores neither a request nor a decision without its audit entry", async () => {
    const [wanted, before] = [wantedOf(), await insert(wantedOf())];
    const changes: readonly [string, () => Promise<unknown>][] = [
      [wanted.id, () => insert(wanted)],
      [before.id, () => store.saveDecision(before, decisionOf(before))],
    ];
    for (const [id, change] of changes) {
      expect(await database.withoutAudit(id, change)).to.equal("internal_error");
    }
    expect(await store.find(wanted.id)).to.equal(undefined);
    expect(await store.find(before.id)).to.deep.equal(before);
  });

  it("ends an approved funding once, with the reason of a failure", async () => {
    const failed = await insert(wantedOf(), "approved");
    await store.finish(failed.id, "failed", "the balance would be too large");
    await other.finish(failed.id, "funded", "");
    const failure = "the balance would be too large";
    expect(await store.find(failed.id)).to.deep.equal({ ...failed, state: "failed", failure });
    const funded = await insert(wantedOf(), "approved");
    await store.finish(funded.id, "funded", "");
    await store.finish(funded.id, "failed", "late");
    expect(await store.find(funded.id)).to.deep.equal({ ...funded, state: "funded" });
    const pending = await insert(wantedOf());
    await store.finish(pending.id, "funded", "");
    expect(await store.find(pending.id)).to.deep.equal(pending);
  });

  it("lists approved ones that have not moved, oldest first, up to a bound", async () => {
    for (const left of await store.listApproved(1000)) await store.finish(left.id, "funded", "");
    const approved: Funding[] = [];
    for (const state of ["approved", "pending", "approved", "funded", "approved"] as const) {
      const funding = await insert(wantedOf(), state);
      if (state === "approved") approved.push(funding);
    }
    expect(await store.listApproved(10)).to.deep.equal(approved);
    expect(await store.listApproved(2)).to.deep.equal(approved.slice(0, 2));
    await store.finish(approved[0]?.id ?? "", "funded", "");
    expect(await other.listApproved(10)).to.deep.equal(approved.slice(1));
  });

  it("lists fundings newest first, by tenant and states, from an id on, up to a bound", async () => {
    const tenantId = newId("tenant");
    const made: Funding[] = [];
    for (const state of ["pending", "funded", "pending", "refused"] as const) {
      made.push(await insert(wantedOf({ tenantId }), state));
    }
    const foreign = await insert(wantedOf());
    const [a, b, c, d] = made as [Funding, Funding, Funding, Funding];
    const list = (more: Partial<FundingQuery> = {}) =>
      store.list({ tenantId, states: [], limit: 10, beforeId: "", ...more });
    expect(await list()).to.deep.equal([d, c, b, a]);
    expect(await list({ states: ["pending"] })).to.deep.equal([c, a]);
    expect(await list({ states: ["refused", "funded"] })).to.deep.equal([d, b]);
    expect(await list({ beforeId: c.id, limit: 1 })).to.deep.equal([b]);
    expect(await list({ tenantId: "", limit: 2 })).to.deep.equal([foreign, d]);
    expect(await list({ tenantId: newId("tenant") })).to.deep.equal([]);
  });
});
