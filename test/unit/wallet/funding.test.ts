import { expect } from "chai";
import { systemClock } from "../../../services/shared/core/clock.ts";
import { AppError } from "../../../services/shared/core/errors.ts";
import { newId } from "../../../services/shared/core/ids.ts";
import { AMOUNT_MAX } from "../../../services/shared/core/money.ts";
import type { CommandQueue } from "../../../services/wallet/app/command-queue.ts";
import { createWallets } from "../../../services/wallet/app/wallets.ts";
import type { Command } from "../../../services/wallet/domain/command.ts";
import { decide } from "../../../services/wallet/domain/decide.ts";
import type { DecideContext, View } from "../../../services/wallet/domain/ledger-batch.ts";
import { newWallet, type Wallet } from "../../../services/wallet/domain/wallet.ts";
import { createMemoryWalletStore } from "../../support/wallet-memory-store.ts";

const context: DecideContext = { nowMs: 1000, newId };
const actor = { name: "smsctl:ada", address: "192.0.2.1" };

const viewOf = (wallet: Partial<Wallet>): View => ({
  wallet: { ...newWallet("ten_a", "NGN", 0n, 0), ...wallet },
  reservations: new Map(),
  settlements: new Map(),
  references: new Map(),
});
const fund = (amount: bigint, reference = "r"): Command => ({
  kind: "fund",
  amount,
  reference,
  actor,
});
const adjust = (amount: bigint, reference = "r"): Command => ({
  kind: "adjust",
  amount,
  reference,
  reason: "a refund",
  actor,
});
const hold = (amount: bigint, reservationId: string): Command => ({
  kind: "hold",
  reservationId,
  amount,
  messageCount: 1,
  firstMessageId: "msg_a",
  lastMessageId: "msg_a",
  campaignId: "",
});

/** A queue that validation errors must not reach. */
const refusing: CommandQueue = {
  execute: () => Promise.reject(new Error("the command reached the queue")),
  pending: 0,
  close: async () => {},
};

describe("funding and adjusting", () => {
  it("answers a repeated reference with its first entry and moves nothing", () => {
    const { results, changes } = decide(viewOf({}), [fund(50n), fund(50n)], context);
    expect(changes?.wallet.balance).to.equal(50n);
    expect(results[0]).to.include({ replayed: false });
    expect(results[1]).to.include({ replayed: true });
    const [first, second] = results as unknown as { entry: { id: string } }[];
    expect(second?.entry.id).to.equal(first?.entry.id);
  });

  for (const [name, other] of [
    ["another amount", fund(51n)],
    ["another kind", adjust(50n)],
  ] as const) {
    it(`refuses a reference that comes back with ${name}`, () => {
      const { results } = decide(viewOf({}), [fund(50n), other], context);
      expect(results[1]).to.have.property("code", "idempotency_key_reused");
    });
  }

  it("never takes held money by an adjustment", () => {
    const view = viewOf({ balance: 100n, held: 80n });
    const { results, changes } = decide(view, [adjust(-21n), adjust(-20n, "r2")], context);
    expect(results[0]).to.deep.include({
      code: "insufficient_balance",
      message: "An adjustment takes no more than what is available, which is 0.0020 NGN.",
      extra: { required_amount: "0.0021", available_amount: "0.0020", currency: "NGN" },
    });
    expect(changes?.wallet.balance).to.equal(80n);
  });

  it("refuses a balance beyond the largest amount", () => {
    const { results } = decide(viewOf({ balance: AMOUNT_MAX }), [fund(1n)], context);
    expect(results[0]).to.have.property("code", "validation_error");
  });

  for (const amount of [0n, AMOUNT_MAX + 1n, -AMOUNT_MAX - 1n]) {
    it(`rejects an adjustment by ${amount}`, async () => {
      const store = createMemoryWalletStore();
      const { adjust: ask } = createWallets({ store, queue: refusing, clock: systemClock });
      const request = {
        kind: "adjust",
        amount,
        reason: "a refund",
        reference: "r",
        actor,
      } as const;
      const error = await ask("ten_a", request).catch((thrown: unknown) => thrown);
      expect(error).to.deep.include({
        code: "validation_error",
        fields: [
          {
            field: "amount",
            code: "out_of_range",
            message: "must not be zero, and not too large",
          },
        ],
      });
    });
  }

  it("audits the operator, the address and the reason", () => {
    const { changes } = decide(viewOf({ balance: 100n }), [adjust(-20n)], context);
    const [record] = changes?.audit ?? [];
    expect(record).to.include({ action: "wallet.adjust", actor, createdAtMs: 1000 });
    expect(JSON.parse(record?.detail ?? "")).to.deep.equal({
      amount: "-0.0020",
      currency: "NGN",
      reference: "r",
      reason: "a refund",
    });
  });

  it("publishes a funding with the wallet right after it", () => {
    const { changes } = decide(viewOf({}), [fund(50n), hold(20n, "rsv_1")], context);
    const [event] = changes?.events ?? [];
    expect(event).to.include({ type: "funded", amount: 50n, reference: "r" });
    expect(event?.wallet).to.include({ balance: 50n, held: 0n });
  });
});

describe("settings", () => {
  const update = (change: object): Command => ({ kind: "update", actor, ...change });

  it("writes and audits a change, and nothing when nothing changes", () => {
    const changed = decide(
      viewOf({}),
      [update({ frozen: true, lowBalanceThreshold: 5n })],
      context,
    );
    expect(changed.changes?.wallet).to.include({ frozen: true, lowBalanceThreshold: 5n });
    expect(changed.changes?.audit.map(({ detail }) => JSON.parse(detail))).to.deep.equal([
      { low_balance_threshold: "0.0005", frozen: true },
    ]);
    const same = decide(viewOf({}), [update({ frozen: false })], context);
    expect(same.changes).to.equal(undefined);
    expect(same.results[0]).to.not.be.instanceOf(AppError);
  });
});

describe("the low balance event", () => {
  const typesAfter = (view: View, commands: readonly Command[]) =>
    (decide(view, commands, context).changes?.events ?? []).map(({ type }) => type);
  const view = viewOf({ balance: 100n, lowBalanceThreshold: 50n });

  it("is published once per downward crossing, and not again below the threshold", () => {
    const holds = [hold(50n, "rsv_1"), hold(1n, "rsv_2"), hold(1n, "rsv_3")];
    expect(typesAfter(view, holds)).to.deep.equal(["low_balance"]);
  });

  it("is not published at the threshold itself", () => {
    expect(typesAfter(view, [hold(50n, "rsv_1")])).to.deep.equal([]);
  });

  it("is published again after available was back at the threshold", () => {
    const commands = [hold(60n, "rsv_1"), fund(10n), hold(1n, "rsv_2")];
    expect(typesAfter(view, commands)).to.deep.equal(["low_balance", "funded", "low_balance"]);
  });

  it("is published when a raised threshold passes available, and never for a new wallet", () => {
    const raise: Command = { kind: "update", lowBalanceThreshold: 101n, actor };
    expect(typesAfter(view, [raise])).to.deep.equal(["low_balance"]);
    const fresh = viewOf({ ...newWallet("ten_a", "NGN", 50n, 0) });
    expect(typesAfter(fresh, [fund(10n)])).to.deep.equal(["funded"]);
  });

  it("is never published with a threshold of zero", () => {
    const off = viewOf({ balance: 100n, lowBalanceThreshold: 0n });
    expect(typesAfter(off, [hold(100n, "rsv_1")])).to.deep.equal([]);
  });
});
