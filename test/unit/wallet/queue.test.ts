import { expect } from "chai";
import { systemClock } from "../../../services/shared/core/clock.ts";
import { AppError } from "../../../services/shared/core/errors.ts";
import { newId } from "../../../services/shared/core/ids.ts";
import {
  type CommandQueueOptions,
  createCommandQueue,
} from "../../../services/wallet/app/command-queue.ts";
import type { WalletStore } from "../../../services/wallet/app/ports.ts";
import type { Command, HoldCommand } from "../../../services/wallet/domain/command.ts";
import { decide } from "../../../services/wallet/domain/decide.ts";
import { newWallet } from "../../../services/wallet/domain/wallet.ts";
import { createMemoryWalletStore } from "../../support/wallet-memory-store.ts";

const actor = { name: "test", address: "" };

const hold = (reservationId: string, amount = 1n): HoldCommand => ({
  kind: "hold",
  reservationId,
  amount,
  messageCount: 1,
  firstMessageId: "msg_1",
  lastMessageId: "msg_1",
});

async function openQueue(
  wrap: (store: WalletStore) => Pick<WalletStore, "transact"> = (store) => store,
  options: Partial<CommandQueueOptions> = {},
) {
  const store = createMemoryWalletStore();
  for (const tenantId of ["ten_a", "ten_b", "ten_c"]) {
    const wallet = { ...newWallet(tenantId, "NGN", 0n, 0), balance: 1_000_000n };
    const audit = { id: "aud_1", tenantId, action: "", actor, detail: "{}", createdAtMs: 0 };
    await store.createWallet(wallet, audit);
  }
  const flushes: number[] = [];
  const queue = createCommandQueue({
    store: wrap(store),
    clock: systemClock,
    batchMax: 100,
    queueMax: 200,
    totalMax: 300,
    flushesMax: 2,
    walletsMax: 8,
    isTransient: (error) => error instanceof AppError && error.code === "service_unavailable",
    onFlush: (commands) => void flushes.push(commands),
    ...options,
  });
  return { store, queue, flushes };
}

/** A store whose transactions wait until they are let through. */
function gated() {
  const waiting: { tenantIds: readonly string[]; open: () => void }[] = [];
  const wrap = (store: WalletStore): Pick<WalletStore, "transact"> => ({
    async transact(tenantIds, work) {
      await new Promise<void>((resolve) => waiting.push({ tenantIds, open: resolve }));
      return store.transact(tenantIds, work);
    },
  });
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  return {
    wrap,
    waiting,
    /** Lets the longest waiting one through; answers whose wallets it was for. */
    async letOne(): Promise<string | undefined> {
      for (let tries = 0; tries < 10 && waiting.length === 0; tries += 1) await turn();
      const next = waiting.shift();
      next?.open();
      await turn();
      return next?.tenantIds.join(" ");
    },
  };
}

/** A store that cannot save one reservation. */
const failingOn =
  (reservationId: string) =>
  (store: WalletStore): Pick<WalletStore, "transact"> => ({
    transact: (tenantIds, work) =>
      store.transact(tenantIds, (tx) =>
        work({
          ...tx,
          async save(changes) {
            const reservations = changes.flatMap((one) => one.newReservations);
            if (reservations.some(({ id }) => id === reservationId)) {
              throw new Error("a document is refused");
            }
            await tx.save(changes);
          },
        }),
      ),
  });

/** What another replica does to a wallet. */
const elsewhere = (store: WalletStore, tenantId: string, commands: readonly Command[]) =>
  store.transact([tenantId], async (tx) => {
    const none = { reservationIds: [], messageIds: [], references: [] };
    const view = (await tx.load(new Map([[tenantId, none]]))).get(tenantId);
    if (view === undefined) throw new Error("there is no such wallet");
    const { changes } = decide(view, commands, { nowMs: 0, newId });
    if (changes !== undefined) await tx.save([changes]);
  });

const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => "ok",
    (error: unknown) => (error instanceof AppError ? error.code : String(error)),
  );

describe("the wallet's queue", () => {
  it("writes what comes together in one transaction, in order", async () => {
    const { queue, flushes, store } = await openQueue();
    const ids = Array.from({ length: 50 }, (_, at) => `rsv_${at}`);
    await Promise.all(ids.map((id) => queue.run("ten_a", hold(id))));
    expect(flushes).to.deep.equal([50]);
    const wallet = await store.findWallet("ten_a");
    expect(wallet).to.include({ held: 50n, sequence: 1 });
  });

  it("takes what arrives until the wallet is its own, so waiting makes batches larger", async () => {
    const gate = gated();
    const { queue, flushes } = await openQueue(gate.wrap);
    const first = queue.run("ten_a", hold("rsv_1"));
    while (gate.waiting.length === 0) await new Promise((resolve) => setImmediate(resolve));
    const second = queue.run("ten_a", hold("rsv_2"));
    await gate.letOne();
    await Promise.all([first, second]);
    expect(flushes).to.deep.equal([2]);
  });

  it("refuses nothing by what was read before it was asked", async () => {
    let whileReading = () => {};
    const { queue, store, flushes } = await openQueue((memory) => ({
      transact: (tenantIds, work) =>
        memory.transact(tenantIds, (tx) => {
          whileReading();
          return work({ ...tx, isExclusive: false });
        }),
    }));
    const funds = { kind: "fund", amount: 5n, reference: "r", actor } as const;
    // Another replica funds the wallet while this one reads it; who knows of that asks then.
    const later: Promise<string>[] = [];
    const asked = new Promise<void>((resolve) => {
      whileReading = () => {
        whileReading = () => {};
        void elsewhere(store, "ten_a", [funds]);
        for (const id of ["rsv_2", "rsv_3"]) {
          later.push(codeOf(queue.run("ten_a", hold(id, 1_000_003n))));
        }
        resolve();
      };
    });
    expect(await codeOf(queue.run("ten_a", hold("rsv_1", 1_000_003n)))).to.equal(
      "insufficient_balance",
    );
    await asked;
    expect(await Promise.all(later)).to.deep.equal(["ok", "insufficient_balance"]);
    expect(flushes).to.deep.equal([1, 2]);
    expect(queue.pending).to.equal(0);
  });

  it("lets wallets take turns: one that is full waits behind each of the others", async () => {
    const gate = gated();
    const { queue } = await openQueue(gate.wrap, { batchMax: 1, flushesMax: 1, walletsMax: 1 });
    const all = [
      ...["1", "2", "3"].map((id) => queue.run("ten_a", hold(`rsv_a${id}`))),
      queue.run("ten_b", hold("rsv_b")),
      queue.run("ten_c", hold("rsv_c")),
    ];
    const order: (string | undefined)[] = [];
    for (let turns = 0; turns < 5; turns += 1) order.push(await gate.letOne());
    await Promise.all(all);
    expect(order).to.deep.equal(["ten_a", "ten_b", "ten_c", "ten_a", "ten_a"]);
  });

  it("writes many wallets with little to do in one transaction", async () => {
    const { queue, flushes, store } = await openQueue();
    const ids = ["ten_a", "ten_b", "ten_c", "ten_none"];
    const answers = await Promise.all(
      ids.map((tenantId) => codeOf(queue.run(tenantId, hold(`rsv_${tenantId}`)))),
    );
    expect(answers).to.deep.equal(["ok", "ok", "ok", "not_found"]);
    expect(flushes).to.deep.equal([4]);
    expect((await store.findWallet("ten_b"))?.held).to.equal(1n);
  });

  it("keeps a wallet with much to do out of the others' transaction", async () => {
    const gate = gated();
    const { queue } = await openQueue(gate.wrap);
    const all = [
      ...Array.from({ length: 40 }, (_, at) => queue.run("ten_a", hold(`rsv_a${at}`))),
      queue.run("ten_b", hold("rsv_b")),
      queue.run("ten_c", hold("rsv_c")),
    ];
    expect([await gate.letOne(), await gate.letOne()]).to.deep.equal(["ten_a", "ten_b ten_c"]);
    await Promise.all(all);
  });

  it("keeps a wallet that is hot on another replica out of the others' transaction", async () => {
    const gate = gated();
    const isHotElsewhere = (tenantId: string) => tenantId === "ten_b";
    const { queue } = await openQueue(gate.wrap, { isHotElsewhere });
    const all = ["ten_a", "ten_b", "ten_c"].map((id) => queue.run(id, hold(`rsv_${id}`)));
    expect([await gate.letOne(), await gate.letOne()]).to.deep.equal(["ten_a ten_c", "ten_b"]);
    await Promise.all(all);
  });

  it("parts wallets when their transaction fails, so that only the one at fault fails", async () => {
    const { queue } = await openQueue(failingOn("rsv_bad"));
    const answers = await Promise.all([
      codeOf(queue.run("ten_a", hold("rsv_1"))),
      codeOf(queue.run("ten_b", hold("rsv_bad"))),
      codeOf(queue.run("ten_c", hold("rsv_2"))),
    ]);
    expect(answers).to.deep.equal(["ok", "Error: a document is refused", "ok"]);
  });

  it("holds once when two wallets are asked for one reservation at the same time", async () => {
    const { queue } = await openQueue();
    const answers = await Promise.all(
      ["ten_a", "ten_b"].map((tenantId) => codeOf(queue.run(tenantId, hold("rsv_1")))),
    );
    expect(answers.sort()).to.deep.equal(["idempotency_key_reused", "ok"]);
  });

  it("fails only the command that is at fault when a whole batch fails", async () => {
    const { queue } = await openQueue(failingOn("rsv_bad"));
    const ids = ["rsv_1", "rsv_2", "rsv_bad", "rsv_3", "rsv_4"];
    const answers = await Promise.all(ids.map((id) => codeOf(queue.run("ten_a", hold(id)))));
    expect(answers).to.deep.equal(["ok", "ok", "Error: a document is refused", "ok", "ok"]);
  });

  it("fails the whole batch at once in an outage, and works again after it", async () => {
    let tries = 0;
    let isOut = true;
    const { queue } = await openQueue((store) => ({
      transact(tenantIds, work) {
        tries += 1;
        if (isOut) return Promise.reject(new AppError("service_unavailable", "away"));
        return store.transact(tenantIds, work);
      },
    }));
    const ids = ["rsv_1", "rsv_2", "rsv_3"];
    const answers = await Promise.all(ids.map((id) => codeOf(queue.run("ten_a", hold(id)))));
    expect(answers).to.deep.equal(ids.map(() => "service_unavailable"));
    expect(tries).to.equal(1);
    isOut = false;
    expect(await codeOf(queue.run("ten_a", hold("rsv_1")))).to.equal("ok");
  });

  it("refuses beyond its bounds, per wallet and in all, before anything is written", async () => {
    const gate = gated();
    const { queue, store } = await openQueue(gate.wrap, { queueMax: 2, totalMax: 3 });
    const taken = ["rsv_1", "rsv_2"].map((id) => codeOf(queue.run("ten_a", hold(id))));
    expect(await codeOf(queue.run("ten_a", hold("rsv_3")))).to.equal("service_unavailable");
    taken.push(codeOf(queue.run("ten_b", hold("rsv_4"))));
    expect(await codeOf(queue.run("ten_c", hold("rsv_5")))).to.equal("service_unavailable");
    expect(queue.pending).to.equal(3);
    await gate.letOne();
    await gate.letOne();
    expect(await Promise.all(taken)).to.deep.equal(["ok", "ok", "ok"]);
    expect((await store.findWallet("ten_c"))?.held).to.equal(0n);
    expect(queue.pending).to.equal(0);
  });

  it("finishes what it has taken when it closes, and takes no more", async () => {
    const { queue } = await openQueue();
    const taken = codeOf(queue.run("ten_a", hold("rsv_1")));
    await queue.close();
    expect(await taken).to.equal("ok");
    expect(await codeOf(queue.run("ten_a", hold("rsv_2")))).to.equal("service_unavailable");
  });

  it("answers not_found for a wallet that does not exist", async () => {
    const { queue } = await openQueue();
    expect(await codeOf(queue.run("ten_x", hold("rsv_1")))).to.equal("not_found");
  });
});
