import { expect } from "chai";
import { createManualClock } from "../../../services/shared/core/clock.ts";
import { AppError } from "../../../services/shared/core/errors.ts";
import { newId } from "../../../services/shared/core/ids.ts";
import { createCommandQueue } from "../../../services/wallet/app/command-queue.ts";
import { createCheckWallets } from "../../../services/wallet/app/reconcile.ts";
import { createSettleMessages } from "../../../services/wallet/app/settle-messages.ts";
import {
  createSweep,
  nextCheckMs,
  type ResolveReservations,
  resolveBatches,
  type SweepResult,
} from "../../../services/wallet/app/sweep.ts";
import { createWallets } from "../../../services/wallet/app/wallets.ts";
import { checkBooks } from "../../support/wallet-commands.ts";
import { createMemoryWalletStore } from "../../support/wallet-memory-store.ts";

const GRACE_MS = 300_000;

/** A funded wallet with one hold of 30 (two messages of 15), and a sweeper over it. */
async function openSweep(resolve: ResolveReservations, refusedId = "") {
  const clock = createManualClock(1_800_000_000_000);
  const store = createMemoryWalletStore(GRACE_MS);
  const commits: number[] = [];
  const queue = createCommandQueue({
    store,
    clock,
    batchMax: 100,
    queueMax: 1000,
    totalMax: 1000,
    transactionsMax: 4,
    walletsMax: 8,
    metrics: { onCommit: (commands) => void commits.push(commands) },
  });
  const wallets = createWallets({ store, queue, clock });
  const tenantId = newId("tenant");
  const actor = { name: "test", address: "" };
  await wallets.create(tenantId, "NGN", 0n, actor);
  await wallets.fund(tenantId, { kind: "fund", amount: 100n, reference: "r", actor });
  const reservationId = newId("reservation");
  const hold = (id: string, messageCount: number) =>
    wallets.placeHold(tenantId, {
      kind: "hold",
      reservationId: id,
      amount: 30n,
      messageCount,
      firstMessageId: "msg_1",
      lastMessageId: "msg_2",
      campaignId: "",
    });
  await hold(reservationId, 2);
  let calls = 0;
  const settleMessages = createSettleMessages({ store, queue });
  const sweep = createSweep({
    store,
    queue,
    async settleMessages(requests) {
      const good = requests.filter(({ messageId }) => messageId !== refusedId);
      const results = await settleMessages(good);
      if (good.length === requests.length) return results;
      return [{ kind: "unavailable", error: new Error("refused by the database") }, ...results];
    },
    resolve(due) {
      calls += 1;
      return resolve(due);
    },
    clock,
    graceMs: GRACE_MS,
  });
  const figures = async () => {
    const { balance, held } = await wallets.get(tenantId);
    const checkWallets = createCheckWallets(() => store.openSnapshot());
    await checkBooks({ checkWallets, tenantId });
    return `${balance}/${held}`;
  };
  return { clock, sweep, figures, hold, tenantId, reservationId, calls: () => calls, commits };
}

const failureOf = ({ failure }: SweepResult) => (failure as AppError | undefined)?.code;

const part = (
  tenantId: string,
  reservationId: string,
  messageId: string,
  capturedAmount: bigint,
) => ({
  tenantId,
  reservationId,
  messageId,
  heldAmount: 15n,
  capturedAmount,
});

describe("the sweeper", () => {
  it("sends no reservation to messaging before the grace time is over", async () => {
    const { clock, sweep, calls } = await openSweep(async () => []);
    clock.advance(GRACE_MS - 1);
    expect(await sweep()).to.deep.equal({ checked: 0, released: 0, settled: 0 });
    expect(calls()).to.equal(0);
  });

  it("releases a hold that messaging has fenced", async () => {
    const { clock, sweep, figures } = await openSweep(async (due) =>
      due.map(({ id }) => ({ reservationId: id, fenced: true, settlements: [] })),
    );
    clock.advance(GRACE_MS);
    expect(await sweep()).to.deep.equal({ checked: 1, released: 1, settled: 0 });
    expect(await figures()).to.equal("100/0");
    expect(await sweep()).to.deep.equal({ checked: 0, released: 0, settled: 0 });
  });

  it("releases all reservations that one call fenced in one transaction", async () => {
    const { clock, sweep, figures, hold, commits } = await openSweep(async (due) =>
      due.map(({ id }) => ({ reservationId: id, fenced: true, settlements: [] })),
    );
    for (let at = 0; at < 2; at += 1) await hold(newId("reservation"), 1);
    clock.advance(GRACE_MS);
    commits.length = 0;
    expect(await sweep()).to.deep.equal({ checked: 3, released: 3, settled: 0 });
    expect(commits).to.deep.equal([3]);
    expect(await figures()).to.equal("100/0");
  });

  it("settles messages whose events were lost, and keeps the rest held", async () => {
    const { clock, sweep, figures } = await openSweep(async (due) =>
      due.map(({ id, tenantId }) => ({
        reservationId: id,
        fenced: false,
        settlements: [part(tenantId, id, "msg_1", 10n)],
      })),
    );
    clock.advance(GRACE_MS);
    expect(await sweep()).to.deep.equal({ checked: 1, released: 0, settled: 1 });
    expect(await figures()).to.equal("90/15");
  });

  it("settles other messages when the database refuses one", async () => {
    const { clock, sweep, figures } = await openSweep(
      async (due) =>
        due.map(({ id, tenantId }) => ({
          reservationId: id,
          fenced: false,
          settlements: [part(tenantId, id, "msg_1", 10n), part(tenantId, id, "msg_2", 10n)],
        })),
      "msg_1",
    );
    clock.advance(GRACE_MS);
    const first = await sweep();
    expect(first).to.include({ checked: 1, released: 0, settled: 1 });
    expect((first.failure as Error).message).to.equal("refused by the database");
    expect(await figures()).to.equal("90/15");
    // It is postponed, so that it does not fill the next sweeps.
    expect(await sweep()).to.deep.equal({ checked: 0, released: 0, settled: 0 });
  });

  it("changes nothing while messaging does not answer, and retries", async () => {
    let isAway = true;
    const { clock, sweep, figures } = await openSweep(async (due) => {
      if (isAway) throw new AppError("service_unavailable", "away");
      return due.map(({ id }) => ({ reservationId: id, fenced: true, settlements: [] }));
    });
    clock.advance(GRACE_MS);
    expect(failureOf(await sweep())).to.equal("service_unavailable");
    expect(await figures()).to.equal("100/30");
    isAway = false;
    expect(await sweep()).to.include({ released: 1 });
  });

  it("postpones a call that messaging cannot answer and continues with the others", async () => {
    const huge = newId("reservation");
    const { clock, sweep, hold, figures, calls } = await openSweep(async (due) => {
      if (due.some(({ id }) => id === huge)) throw new AppError("internal_error", "too much");
      return due.map(({ id }) => ({ reservationId: id, fenced: true, settlements: [] }));
    });
    await hold(huge, 10_000);
    clock.advance(GRACE_MS);
    const first = await sweep();
    expect(first).to.include({ checked: 1, released: 1 });
    expect(failureOf(first)).to.equal("internal_error");
    expect(await figures()).to.equal("100/30");
    expect(calls()).to.equal(2);
    expect(await sweep()).to.deep.equal({ checked: 0, released: 0, settled: 0 });
    clock.advance(GRACE_MS);
    expect(failureOf(await sweep())).to.equal("internal_error");
  });

  it("stops at an outage of messaging and postpones nothing", async () => {
    let answers = 1;
    const { clock, sweep, hold, calls } = await openSweep(async (due) => {
      answers -= 1;
      if (answers < 0) throw new AppError("service_unavailable", "away");
      return due.map(({ id }) => ({ reservationId: id, fenced: true, settlements: [] }));
    });
    for (let at = 0; at < 2; at += 1) await hold(newId("reservation"), 10_000);
    clock.advance(GRACE_MS);
    const first = await sweep();
    expect(first).to.include({ checked: 1, released: 1 });
    expect(failureOf(first)).to.equal("service_unavailable");
    expect(calls()).to.equal(2);
    answers = 2;
    expect(await sweep()).to.deep.equal({ checked: 2, released: 2, settled: 0 });
  });

  it("limits the messages of one call", () => {
    const due = [3000, 1000, 1, 10_000, 4000, 1].map((messageCount) => ({ messageCount }));
    const counts = resolveBatches(due).map((one) => one.map(({ messageCount }) => messageCount));
    expect(counts).to.deep.equal([[3000, 1000], [1], [10_000], [4000], [1]]);
    expect(resolveBatches([])).to.deep.equal([]);
  });

  it("releases no reservation that the answer leaves out", async () => {
    const { clock, sweep, figures } = await openSweep(async () => []);
    clock.advance(GRACE_MS);
    expect(await sweep()).to.deep.equal({ checked: 1, released: 0, settled: 0 });
    expect(await figures()).to.equal("100/30");
  });

  it("ignores an answer about a reservation it did not send", async () => {
    // It exists and is younger than the grace time.
    const young = newId("reservation");
    const { clock, sweep, hold, figures } = await openSweep(async () => [
      { reservationId: young, fenced: true, settlements: [] },
    ]);
    clock.advance(GRACE_MS);
    await hold(young, 2);
    expect(await sweep()).to.deep.equal({ checked: 1, released: 0, settled: 0 });
    expect(await figures()).to.equal("100/60");
  });

  it("doubles the interval between checks of an open hold, up to one hour", async () => {
    const { clock, sweep, calls } = await openSweep(async (due) =>
      due.map(({ id }) => ({ reservationId: id, fenced: false, settlements: [] })),
    );
    clock.advance(GRACE_MS);
    await sweep();
    clock.advance(GRACE_MS - 1);
    await sweep();
    expect(calls()).to.equal(1);
    clock.advance(1);
    await sweep();
    expect(calls()).to.equal(2);
    const waits = [0, 1, 2, 3, 4, 40].map((checks) => nextCheckMs(GRACE_MS, checks));
    expect(waits).to.deep.equal([300_000, 600_000, 1_200_000, 2_400_000, 3_600_000, 3_600_000]);
  });
});
