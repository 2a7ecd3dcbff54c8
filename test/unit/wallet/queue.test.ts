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
  campaignId: "",
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
  const commits: number[] = [];
  const queue = createCommandQueue({
    store: wrap(store),
    clock: systemClock,
    batchMax: 100,
    queueMax: 200,
    totalMax: 300,
    transactionsMax: 2,
    walletsMax: 8,
    metrics: { onCommit: (commands) => void commits.push(commands) },
    ...options,
  });
  return { store, queue, commits };
}

/** A store whose transactions wait until the test lets them continue. */
function gated() {
  const waiting: { tenantIds: readonly string[]; open: () => void }[] = [];
  const wrap = (store: WalletStore): Pick<WalletStore, "transact"> => ({
    async transact(tenantIds, work) {
      await new Promise<void>((resolve) => waiting.push({ tenantIds, open: resolve }));
      return store.transact(tenantIds, work);
    },
  });
  const nextTick = () => new Promise((resolve) => setImmediate(resolve));
  return {
    wrap,
    waiting,
    /** Lets the longest waiting transaction continue; returns its tenant ids. */
    async letOne(): Promise<string | undefined> {
      for (let tries = 0; tries < 10 && waiting.length === 0; tries += 1) await nextTick();
      const next = waiting.shift();
      next?.open();
      await nextTick();
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

/** A transaction of another replica. */
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
  it("writes commands that arrive together in one transaction, in order", async () => {
    const { queue, commits, store } = await openQueue();
    const ids = Array.from({ length: 50 }, (_, at) => `rsv_${at}`);
    await Promise.all(ids.map((id) => queue.execute("ten_a", hold(id))));
    expect(commits).to.deep.equal([50]);
    const wallet = await store.findWallet("ten_a");
    expect(wallet).to.include({ held: 50n, sequence: 1 });
  });

  it("adds commands to the batch until its transaction owns the wallet", async () => {
    const gate = gated();
    const { queue, commits } = await openQueue(gate.wrap);
    const first = queue.execute("ten_a", hold("rsv_1"));
    while (gate.waiting.length === 0) await new Promise((resolve) => setImmediate(resolve));
    const second = queue.execute("ten_a", hold("rsv_2"));
    await gate.letOne();
    await Promise.all([first, second]);
    expect(commits).to.deep.equal([2]);
  });

  it("refuses no command by a state that was read before the command arrived", async () => {
    let whileReading = () => {};
    const { queue, store, commits } = await openQueue((memory) => ({
      transact: (tenantIds, work) =>
        memory.transact(tenantIds, (tx) => {
          whileReading();
          return work({ ...tx, isExclusive: false });
        }),
    }));
    const funds = { kind: "fund", amount: 5n, reference: "r", actor } as const;
    // Another replica funds the wallet during the read. Two holds arrive after that.
    const later: Promise<string>[] = [];
    const holdsArrived = new Promise<void>((resolve) => {
      whileReading = () => {
        whileReading = () => {};
        void elsewhere(store, "ten_a", [funds]);
        for (const id of ["rsv_2", "rsv_3"]) {
          later.push(codeOf(queue.execute("ten_a", hold(id, 1_000_003n))));
        }
        resolve();
      };
    });
    expect(await codeOf(queue.execute("ten_a", hold("rsv_1", 1_000_003n)))).to.equal(
      "insufficient_balance",
    );
    await holdsArrived;
    expect(await Promise.all(later)).to.deep.equal(["ok", "insufficient_balance"]);
    expect(commits).to.deep.equal([1, 2]);
    expect(queue.pending).to.equal(0);
  });

  it("serves wallets in turn: a wallet with a full batch queues behind the others", async () => {
    const gate = gated();
    const { queue } = await openQueue(gate.wrap, {
      batchMax: 1,
      transactionsMax: 1,
      walletsMax: 1,
    });
    const all = [
      ...["1", "2", "3"].map((id) => queue.execute("ten_a", hold(`rsv_a${id}`))),
      queue.execute("ten_b", hold("rsv_b")),
      queue.execute("ten_c", hold("rsv_c")),
    ];
    const order: (string | undefined)[] = [];
    for (let count = 0; count < 5; count += 1) order.push(await gate.letOne());
    await Promise.all(all);
    expect(order).to.deep.equal(["ten_a", "ten_b", "ten_c", "ten_a", "ten_a"]);
  });

  it("writes many wallets with few commands in one transaction", async () => {
    const { queue, commits, store } = await openQueue();
    const ids = ["ten_a", "ten_b", "ten_c", "ten_none"];
    const answers = await Promise.all(
      ids.map((tenantId) => codeOf(queue.execute(tenantId, hold(`rsv_${tenantId}`)))),
    );
    expect(answers).to.deep.equal(["ok", "ok", "ok", "not_found"]);
    expect(commits).to.deep.equal([4]);
    expect((await store.findWallet("ten_b"))?.held).to.equal(1n);
  });

  it("gives a wallet with many commands a transaction of its own", async () => {
    const gate = gated();
    const { queue } = await openQueue(gate.wrap);
    const all = [
      ...Array.from({ length: 40 }, (_, at) => queue.execute("ten_a", hold(`rsv_a${at}`))),
      queue.execute("ten_b", hold("rsv_b")),
      queue.execute("ten_c", hold("rsv_c")),
    ];
    expect([await gate.letOne(), await gate.letOne()]).to.deep.equal(["ten_a", "ten_b ten_c"]);
    await Promise.all(all);
  });

  it("gives a wallet that another replica writes a transaction of its own", async () => {
    const gate = gated();
    const contention = { isContended: (tenantId: string) => tenantId === "ten_b" };
    const { queue } = await openQueue(gate.wrap, { contention });
    const all = ["ten_a", "ten_b", "ten_c"].map((id) => queue.execute(id, hold(`rsv_${id}`)));
    expect([await gate.letOne(), await gate.letOne()]).to.deep.equal(["ten_a ten_c", "ten_b"]);
    await Promise.all(all);
  });

  it("retries wallets one by one after a failed transaction, so that only one fails", async () => {
    const { queue } = await openQueue(failingOn("rsv_bad"));
    const answers = await Promise.all([
      codeOf(queue.execute("ten_a", hold("rsv_1"))),
      codeOf(queue.execute("ten_b", hold("rsv_bad"))),
      codeOf(queue.execute("ten_c", hold("rsv_2"))),
    ]);
    expect(answers).to.deep.equal(["ok", "Error: a document is refused", "ok"]);
  });

  it("places one hold when two wallets get the same reservation id at the same time", async () => {
    const { queue } = await openQueue();
    const answers = await Promise.all(
      ["ten_a", "ten_b"].map((tenantId) => codeOf(queue.execute(tenantId, hold("rsv_1")))),
    );
    expect(answers.sort()).to.deep.equal(["idempotency_key_reused", "ok"]);
  });

  it("fails only the bad command when a whole batch fails", async () => {
    const { queue } = await openQueue(failingOn("rsv_bad"));
    const ids = ["rsv_1", "rsv_2", "rsv_bad", "rsv_3", "rsv_4"];
    const answers = await Promise.all(ids.map((id) => codeOf(queue.execute("ten_a", hold(id)))));
    expect(answers).to.deep.equal(["ok", "ok", "Error: a document is refused", "ok", "ok"]);
  });

  it("fails the whole batch at once in an outage, and recovers after it", async () => {
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
    const answers = await Promise.all(ids.map((id) => codeOf(queue.execute("ten_a", hold(id)))));
    expect(answers).to.deep.equal(ids.map(() => "service_unavailable"));
    expect(tries).to.equal(1);
    isOut = false;
    expect(await codeOf(queue.execute("ten_a", hold("rsv_1")))).to.equal("ok");
  });

  it("refuses commands beyond its bounds, per wallet and in all, before a write", async () => {
    const gate = gated();
    const { queue, store } = await openQueue(gate.wrap, { queueMax: 2, totalMax: 3 });
    const taken = ["rsv_1", "rsv_2"].map((id) => codeOf(queue.execute("ten_a", hold(id))));
    expect(await codeOf(queue.execute("ten_a", hold("rsv_3")))).to.equal("service_unavailable");
    taken.push(codeOf(queue.execute("ten_b", hold("rsv_4"))));
    expect(await codeOf(queue.execute("ten_c", hold("rsv_5")))).to.equal("service_unavailable");
    expect(queue.pending).to.equal(3);
    await gate.letOne();
    await gate.letOne();
    expect(await Promise.all(taken)).to.deep.equal(["ok", "ok", "ok"]);
    expect((await store.findWallet("ten_c"))?.held).to.equal(0n);
    expect(queue.pending).to.equal(0);
  });

  it("finishes accepted commands when it closes, and accepts no more", async () => {
    const { queue } = await openQueue();
    const taken = codeOf(queue.execute("ten_a", hold("rsv_1")));
    await queue.close();
    expect(await taken).to.equal("ok");
    expect(await codeOf(queue.execute("ten_a", hold("rsv_2")))).to.equal("service_unavailable");
  });

  it("answers not_found for a wallet that does not exist", async () => {
    const { queue } = await openQueue();
    expect(await codeOf(queue.execute("ten_x", hold("rsv_1")))).to.equal("not_found");
  });
});
