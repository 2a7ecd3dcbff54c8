/** Conformance suite of the wallet store port, run on the memory store and on MongoDB. */
import { expect } from "chai";
import { AppError } from "../../../services/shared/core/errors.ts";
import { newId } from "../../../services/shared/core/ids.ts";
import type {
  RequiredDocuments,
  StatementQuery,
  WalletStore,
  WalletTransaction,
} from "../../../services/wallet/app/ports.ts";
import type { Command } from "../../../services/wallet/domain/command.ts";
import { decide } from "../../../services/wallet/domain/decide.ts";
import type { View } from "../../../services/wallet/domain/ledger-batch.ts";
import { newWallet } from "../../../services/wallet/domain/wallet.ts";
import { startServers, type TestServers } from "../../support/servers.ts";
import { openWallet, type WalletHarness } from "../../support/wallet-harness.ts";
import { createMemoryWalletStore } from "../../support/wallet-memory-store.ts";

const GRACE_MS = 60_000;
const actor = { name: "test", address: "192.0.2.1" };
const NOTHING: RequiredDocuments = { reservationIds: [], messageIds: [], references: [] };

type Harness = { open(): Promise<WalletStore>; close(): Promise<void> };

const HARNESSES: Record<string, () => Harness> = {
  "in memory": () => ({
    open: async () => createMemoryWalletStore(GRACE_MS),
    close: async () => {},
  }),
  "on MongoDB": () => {
    let servers: TestServers | undefined;
    let wallet: WalletHarness | undefined;
    return {
      async open() {
        servers = await startServers();
        wallet = await openWallet(servers, { graceMs: GRACE_MS });
        return wallet.store;
      },
      async close() {
        await wallet?.close();
        await servers?.stop();
      },
    };
  },
};

const fund = (amount: bigint, reference: string): Command => ({
  kind: "fund",
  amount,
  reference,
  actor,
});
const hold = (reservationId: string, amount: bigint): Command => ({
  kind: "hold",
  reservationId,
  amount,
  messageCount: 1,
  firstMessageId: "msg_1",
  lastMessageId: "msg_1",
  campaignId: "",
});

for (const [name, createHarness] of Object.entries(HARNESSES)) {
  describe(`the wallet's storage ${name}`, () => {
    const harness = createHarness();
    let store: WalletStore;
    before(async () => {
      store = await harness.open();
    });
    after(() => harness.close());

    const auditOf = (tenantId: string) => ({
      id: newId("audit"),
      tenantId,
      action: "wallet.create",
      actor,
      detail: "{}",
      createdAtMs: 1000,
    });
    async function newTenant(funds = 100n): Promise<string> {
      const tenantId = newId("tenant");
      await store.createWallet(newWallet(tenantId, "NGN", 0n, 1000), auditOf(tenantId));
      if (funds > 0n) await run(tenantId, [fund(funds, "start")], 1000);
      return tenantId;
    }
    /**
     * Decides and saves. Without `required` it looks up nothing, as for new holds and
     * settlements.
     */
    function run(
      tenantId: string,
      commands: readonly Command[],
      nowMs: number,
      required = NOTHING,
    ) {
      return store.transact([tenantId], async (tx) => {
        const decision = decide(await viewOf(tx, tenantId, required), commands, { nowMs, newId });
        if (decision.changes !== undefined) await tx.save([decision.changes]);
        return decision.results;
      });
    }
    async function viewOf(
      tx: WalletTransaction,
      tenantId: string,
      required = NOTHING,
    ): Promise<View> {
      const view = (await tx.load(new Map([[tenantId, required]]))).get(tenantId);
      if (view === undefined) throw new Error("no such wallet");
      return view;
    }
    const codeOf = (promise: Promise<unknown>) =>
      promise.then(
        () => "ok",
        (error: unknown) => (error instanceof AppError ? error.code : String(error)),
      );

    it("creates a wallet once and returns the stored one", async () => {
      const tenantId = await newTenant(0n);
      const other = newWallet(tenantId, "USD", 5n, 2000);
      const stored = await store.createWallet(other, auditOf(tenantId));
      expect(stored.currency).to.equal("NGN");
      expect(await store.findWallet(tenantId)).to.deep.equal(stored);
      expect(await store.listAudit(tenantId, "", 10)).to.have.length(1);
      expect(await store.findWallet("ten_none")).to.equal(undefined);
    });

    it("keeps amounts beyond 2^53 exactly", async () => {
      const tenantId = await newTenant(9_007_199_254_740_993n);
      expect((await store.findWallet(tenantId))?.balance).to.equal(9_007_199_254_740_993n);
    });

    it("has no view of a wallet that does not exist", async () => {
      const tenantId = await newTenant();
      const tenants = await store.transact(["ten_none", tenantId], async (tx) => [
        ...(await tx.load(new Map())).keys(),
      ]);
      expect(tenants).to.deep.equal([tenantId]);
    });

    it("writes several wallets in one transaction, or none of them", async () => {
      const tenantIds = [await newTenant(), await newTenant(), await newTenant()];
      const holdAll = (amount: bigint, isFailing: boolean) =>
        store.transact(tenantIds, async (tx) => {
          const views = await tx.load(new Map());
          const context = { nowMs: 2000, newId };
          const changes = [...views.values()].flatMap(
            (view) => decide(view, [hold(newId("reservation"), amount)], context).changes ?? [],
          );
          await tx.save(changes);
          if (isFailing) throw new Error("died before the commit");
        });
      const held = async () =>
        Promise.all(tenantIds.map(async (id) => (await store.findWallet(id))?.held));
      await holdAll(7n, false);
      expect(await held()).to.deep.equal([7n, 7n, 7n]);
      expect(await codeOf(holdAll(1n, true))).to.contain("died before the commit");
      expect(await held()).to.deep.equal([7n, 7n, 7n]);
      for (const tenantId of tenantIds) {
        const wallet = await store.findWallet(tenantId);
        const all = {
          tenantId,
          fromMs: 0,
          toMs: 0,
          kinds: [],
          campaignId: "",
          limit: 10,
          before: undefined,
        };
        expect(wallet?.sequence).to.equal(2);
        expect(await store.listEntries(all)).to.have.length(2);
      }
    });

    it("rolls back when the work fails after saving", async () => {
      const tenantId = await newTenant();
      const before = await store.findWallet(tenantId);
      const id = newId("reservation");
      const failing = store.transact([tenantId], async (tx) => {
        const view = await viewOf(tx, tenantId);
        const { changes } = decide(view, [hold(id, 10n)], { nowMs: 2000, newId });
        if (changes !== undefined) await tx.save([changes]);
        throw new Error("died before the commit");
      });
      expect(await codeOf(failing)).to.contain("died before the commit");
      expect(await store.findWallet(tenantId)).to.deep.equal(before);
      expect(await store.findReservation(tenantId, id)).to.equal(undefined);
    });

    it("serialises transactions on one wallet", async () => {
      const tenantId = await newTenant(10n);
      const ids = Array.from({ length: 16 }, () => newId("reservation"));
      const results = await Promise.all(ids.map((id) => run(tenantId, [hold(id, 1n)], 2000)));
      const refused = results.filter(([result]) => result instanceof AppError).length;
      expect(refused).to.equal(6);
      const wallet = await store.findWallet(tenantId);
      expect(wallet).to.include({ balance: 10n, held: 10n, sequence: 11 });
    });

    it("throws already_exists for a hold that was wrongly decided as new", async () => {
      const tenantId = await newTenant();
      const id = newId("reservation");
      await run(tenantId, [hold(id, 10n)], 2000);
      expect(await codeOf(run(tenantId, [hold(id, 10n)], 2001))).to.equal("already_exists");
      expect((await store.findWallet(tenantId))?.held).to.equal(10n);
      const required = { ...NOTHING, reservationIds: [id] };
      expect(await run(tenantId, [hold(id, 10n)], 2002, required)).to.deep.equal([
        { currency: "NGN", available: 90n },
      ]);
    });

    it("finds the tenant's saved reservations, settlements and references", async () => {
      const tenantId = await newTenant();
      const [id, messageId] = [newId("reservation"), newId("message")];
      const settle: Command = {
        kind: "settle",
        messageId,
        reservationId: id,
        heldAmount: 6n,
        capturedAmount: 4n,
      };
      await run(tenantId, [hold(id, 10n)], 2000);
      await run(tenantId, [settle], 3000, { ...NOTHING, reservationIds: [id] });
      const view = await store.transact([tenantId], (tx) =>
        viewOf(tx, tenantId, {
          reservationIds: [id, "rsv_none"],
          messageIds: [messageId, "msg_none"],
          references: ["start", "none"],
        }),
      );
      expect([...view.reservations.values()]).to.deep.equal([
        {
          id,
          tenantId,
          amount: 10n,
          openAmount: 4n,
          fencedAmount: 0n,
          state: "open",
          messageCount: 1,
          settledCount: 1,
          firstMessageId: "msg_1",
          lastMessageId: "msg_1",
          campaignId: "",
          createdAtMs: 2000,
        },
      ]);
      expect([...view.settlements.values()]).to.deep.equal([
        {
          messageId,
          tenantId,
          reservationId: id,
          heldAmount: 6n,
          capturedAmount: 4n,
          settledAtMs: 3000,
        },
      ]);
      expect([...view.references.keys()]).to.deep.equal(["start"]);
      expect(view.references.get("start")).to.include({ kind: "fund", amount: 100n });
      const settled = await store.findSettled([messageId, "msg_none"]);
      expect([...settled.keys()]).to.deep.equal([messageId]);
      expect(settled.get(messageId)).to.include({ heldAmount: 6n, capturedAmount: 4n });
      expect(await store.findReservation(tenantId, id)).to.include({ openAmount: 4n });
      expect(await store.findReservation("ten_other", id)).to.equal(undefined);
    });

    it("pages a statement newest first, by kind and by date", async () => {
      const tenantId = await newTenant();
      const ids = [1, 2, 3, 4].map(() => newId("reservation"));
      const [a = "", b = "", c = "", d = ""] = ids;
      await run(tenantId, [hold(a, 1n), hold(b, 2n), hold(c, 3n)], 2000);
      await run(tenantId, [hold(d, 4n), fund(5n, "second")], 3000);
      const list = async (query: Partial<StatementQuery>) => {
        const all = {
          tenantId,
          fromMs: 0,
          toMs: 0,
          kinds: [],
          campaignId: "",
          limit: 10,
          before: undefined,
        };
        return store.listEntries({ ...all, ...query });
      };
      const amounts = async (query: Partial<StatementQuery>) =>
        (await list(query)).map(({ amount }) => amount);
      expect(await amounts({})).to.deep.equal([5n, 4n, 3n, 2n, 1n, 100n]);
      const [, , third] = await list({ limit: 3 });
      expect(await amounts({ before: third })).to.deep.equal([2n, 1n, 100n]);
      expect(await amounts({ kinds: ["fund"] })).to.deep.equal([5n, 100n]);
      expect(await amounts({ fromMs: 2000, toMs: 3000 })).to.deep.equal([3n, 2n, 1n]);
      expect(await amounts({ fromMs: 3000 })).to.deep.equal([5n, 4n]);
      expect(await amounts({ toMs: 2000 })).to.deep.equal([100n]);
      const [newest] = await list({ limit: 1 });
      expect(newest).to.include({ balanceAfter: 105n, heldAfter: 10n, actor: "test" });
    });

    it("keeps the campaign of a hold, and pages its movements alone", async () => {
      const tenantId = await newTenant();
      const [own, other, none] = [1, 2, 3].map(() => newId("reservation"));
      const of = (id = "", amount: bigint, campaignId: string) => ({
        ...hold(id, amount),
        campaignId,
      });
      await run(tenantId, [of(own, 1n, "cmp_a"), of(other, 2n, "cmp_b"), of(none, 3n, "")], 2000);
      const settled: Command = {
        ...{ kind: "settle", messageId: newId("message"), reservationId: own ?? "" },
        ...{ heldAmount: 1n, capturedAmount: 1n },
      };
      const needs = { ...NOTHING, reservationIds: [own ?? ""] };
      await run(tenantId, [settled, fund(5n, "second")], 3000, needs);
      const list = (query: Partial<StatementQuery>) =>
        store.listEntries({
          ...{ tenantId, fromMs: 0, toMs: 0, kinds: [], campaignId: "", limit: 10 },
          ...{ before: undefined, ...query },
        });
      const lines = async (query: Partial<StatementQuery>) =>
        (await list(query)).map(({ kind, campaignId }) => `${kind} ${campaignId}`);
      expect(await lines({})).to.deep.equal([
        ...["fund ", "capture cmp_a", "hold ", "hold cmp_b", "hold cmp_a", "fund "],
      ]);
      expect(await lines({ campaignId: "cmp_a" })).to.deep.equal(["capture cmp_a", "hold cmp_a"]);
      expect(await lines({ campaignId: "cmp_a", kinds: ["hold"] })).to.deep.equal(["hold cmp_a"]);
      expect(await lines({ campaignId: "cmp_a", kinds: ["fund"] })).to.deep.equal([]);
      expect(await lines({ campaignId: "cmp_a", toMs: 3000 })).to.deep.equal(["hold cmp_a"]);
      const [newest] = await list({ campaignId: "cmp_a", limit: 1 });
      expect(await lines({ campaignId: "cmp_a", before: newest })).to.deep.equal(["hold cmp_a"]);
      expect(await lines({ campaignId: "cmp_a", tenantId: await newTenant() })).to.deep.equal([]);
      const [first] = await list({ kinds: ["fund"] });
      expect(first).to.include({ reference: "second", campaignId: "" });
    });

    it("pages the audit newest first", async () => {
      const tenantId = await newTenant();
      await run(tenantId, [fund(1n, "second")], 2000);
      const records = await store.listAudit(tenantId, "", 10);
      expect(records.map(({ action }) => action)).to.deep.equal([
        "wallet.fund",
        "wallet.fund",
        "wallet.create",
      ]);
      const [first] = records;
      expect(first?.actor).to.deep.equal(actor);
      expect(await store.listAudit(tenantId, first?.id ?? "", 1)).to.deep.equal([records[1]]);
    });

    it("lists due open reservations, longest due first", async () => {
      const tenantId = await newTenant();
      const [first, second, closed] = [1, 2, 3].map(() => newId("reservation"));
      const at = Date.UTC(2020, 0, 1);
      await run(tenantId, [hold(second ?? "", 1n), hold(closed ?? "", 1n)], at + 1000);
      await run(tenantId, [hold(first ?? "", 1n)], at + 1000);
      const release: Command = { kind: "release", reservationId: closed ?? "" };
      await run(tenantId, [release], at + 1000, { ...NOTHING, reservationIds: [closed ?? ""] });
      const due = async (nowMs: number) =>
        (await store.listDue(nowMs, 100))
          .filter((one) => one.tenantId === tenantId)
          .map(({ id, checks }) => [id, checks]);
      expect(await due(at + 1000 + GRACE_MS - 1)).to.deep.equal([]);
      const atMs = at + 2000 + GRACE_MS;
      await store.postpone([second, closed].map((id = "") => ({ id, atMs })));
      expect(await due(atMs)).to.deep.equal([
        [first, 0],
        [second, 1],
      ]);
      expect(await store.listDue(atMs, 1)).to.have.length(1);
    });

    it("streams settlements by message id and open reservations by id", async () => {
      const tenantId = await newTenant(10_000n);
      const ids = Array.from({ length: 1200 }, () => newId("reservation")).toReversed();
      await run(
        tenantId,
        ids.map((id) => hold(id, 1n)),
        5000,
      );
      const settled = ids.slice(0, 1100).map((reservationId) => ({
        kind: "settle" as const,
        messageId: newId("message"),
        reservationId,
        heldAmount: 1n,
        capturedAmount: 1n,
      }));
      await run(tenantId, settled, 6000, { ...NOTHING, reservationIds: ids });
      const chunks = [];
      for await (const chunk of store.streamSettlements(tenantId)) chunks.push(chunk);
      expect(Math.max(...chunks.map(({ length }) => length))).to.be.at.most(1000);
      const messageIds = chunks.flat().map(({ messageId }) => messageId);
      expect(messageIds).to.deep.equal(settled.map(({ messageId }) => messageId).toSorted());
      const open: string[] = [];
      for await (const chunk of store.streamOpenReservations(0)) {
        open.push(...chunk.filter((one) => one.tenantId === tenantId).map(({ id }) => id));
      }
      expect(open).to.deep.equal(ids.slice(1100).toSorted());
      for await (const chunk of store.streamOpenReservations(5000)) {
        expect(chunk.filter((one) => one.tenantId === tenantId)).to.deep.equal([]);
      }
    });
  });
}
