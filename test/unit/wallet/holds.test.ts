import { expect } from "chai";
import { AppError } from "../../../services/shared/core/errors.ts";
import { newId } from "../../../services/shared/core/ids.ts";
import type { Command } from "../../../services/wallet/domain/command.ts";
import { decide } from "../../../services/wallet/domain/decide.ts";
import type { Entry } from "../../../services/wallet/domain/entry.ts";
import type { DecideContext, View } from "../../../services/wallet/domain/ledger-batch.ts";
import type { Reservation, Settlement } from "../../../services/wallet/domain/reservation.ts";
import { newWallet, type Wallet } from "../../../services/wallet/domain/wallet.ts";

const context: DecideContext = { nowMs: 1_800_000_000_000, newId };

/** A wallet of 100 after the commands `done`. */
function viewAfter(done: readonly Command[], wallet: Partial<Wallet> = {}): View {
  const start: Wallet = { ...newWallet("ten_a", "NGN", 0n, 0), balance: 100n, ...wallet };
  let view: View = {
    wallet: start,
    reservations: new Map(),
    settlements: new Map(),
    references: new Map<string, Entry>(),
  };
  for (const command of done) {
    const { changes, results } = decide(view, [command], context);
    if (changes === undefined) throw new Error(`nothing done: ${String(results[0])}`);
    const reservations = new Map<string, Reservation>(view.reservations);
    for (const one of [...changes.newReservations, ...changes.changedReservations]) {
      reservations.set(one.id, one);
    }
    const settlements = new Map<string, Settlement>(view.settlements);
    for (const one of changes.settlements) settlements.set(one.messageId, one);
    view = { wallet: changes.wallet, reservations, settlements, references: view.references };
  }
  return view;
}

const hold = (amount = 30n, reservationId = "rsv_1"): Command => ({
  kind: "hold",
  reservationId,
  amount,
  messageCount: 2,
  firstMessageId: "msg_a",
  lastMessageId: "msg_b",
  campaignId: "",
});
const settle = (messageId: string, heldAmount: bigint, capturedAmount: bigint): Command => ({
  kind: "settle",
  messageId,
  reservationId: "rsv_1",
  heldAmount,
  capturedAmount,
});
const release: Command = { kind: "release", reservationId: "rsv_1" };

/** Every state a hold of 30 (messages a: 20 and b: 10) can be in, and the way there. */
const STATES = {
  "never placed": [],
  open: [hold()],
  "a captured": [hold(), settle("msg_a", 20n, 15n)],
  "a released": [hold(), settle("msg_a", 20n, 0n)],
  "all settled": [hold(), settle("msg_a", 20n, 15n), settle("msg_b", 10n, 10n)],
  fenced: [hold(), release],
  "a captured, rest fenced": [hold(), settle("msg_a", 20n, 15n), release],
} as const satisfies Record<string, readonly Command[]>;

const COMMANDS = {
  "hold again": hold(),
  "hold another amount": hold(31n),
  "capture a": settle("msg_a", 20n, 15n),
  "release a": settle("msg_a", 20n, 0n),
  "capture more than held": settle("msg_c", 5n, 6n),
  "settle b": settle("msg_b", 10n, 10n),
  fence: release,
} as const satisfies Record<string, Command>;

/** The full product: the answer ("new", "same" or an error code), then balance and held. */
const TABLE: Record<keyof typeof STATES, Record<keyof typeof COMMANDS, string>> = {
  "never placed": {
    "hold again": "new 100/30",
    "hold another amount": "new 100/31",
    "capture a": "not_found 100/0",
    "release a": "not_found 100/0",
    "capture more than held": "validation_error 100/0",
    "settle b": "not_found 100/0",
    fence: "not_found 100/0",
  },
  open: {
    "hold again": "same 100/30",
    "hold another amount": "idempotency_key_reused 100/30",
    "capture a": "new 85/10",
    "release a": "new 100/10",
    "capture more than held": "validation_error 100/30",
    "settle b": "new 90/20",
    fence: "new 100/0",
  },
  "a captured": {
    "hold again": "same 85/10",
    "hold another amount": "idempotency_key_reused 85/10",
    "capture a": "same 85/10",
    "release a": "same 85/10",
    "capture more than held": "validation_error 85/10",
    "settle b": "new 75/0",
    fence: "new 85/0",
  },
  "a released": {
    "hold again": "same 100/10",
    "hold another amount": "idempotency_key_reused 100/10",
    "capture a": "same 100/10",
    "release a": "same 100/10",
    "capture more than held": "validation_error 100/10",
    "settle b": "new 90/0",
    fence: "new 100/0",
  },
  "all settled": {
    "hold again": "same 75/0",
    "hold another amount": "idempotency_key_reused 75/0",
    "capture a": "same 75/0",
    "release a": "same 75/0",
    "capture more than held": "validation_error 75/0",
    "settle b": "same 75/0",
    fence: "same 75/0",
  },
  fenced: {
    "hold again": "same 100/0",
    "hold another amount": "idempotency_key_reused 100/0",
    "capture a": "invalid_state_transition 100/0",
    "release a": "invalid_state_transition 100/0",
    "capture more than held": "validation_error 100/0",
    "settle b": "invalid_state_transition 100/0",
    fence: "same 100/0",
  },
  "a captured, rest fenced": {
    "hold again": "same 85/0",
    "hold another amount": "idempotency_key_reused 85/0",
    "capture a": "same 85/0",
    "release a": "same 85/0",
    "capture more than held": "validation_error 85/0",
    "settle b": "invalid_state_transition 85/0",
    fence: "same 85/0",
  },
};

describe("the states of a hold", () => {
  for (const [state, row] of Object.entries(TABLE)) {
    for (const [name, expected] of Object.entries(row)) {
      it(`${state}, then ${name}: ${expected}`, () => {
        const view = viewAfter(STATES[state as keyof typeof STATES]);
        const command = COMMANDS[name as keyof typeof COMMANDS];
        const { results, changes } = decide(view, [command], context);
        const [result] = results;
        const answer =
          result instanceof AppError ? result.code : changes === undefined ? "same" : "new";
        const { balance, held } = changes?.wallet ?? view.wallet;
        expect(`${answer} ${balance}/${held}`).to.equal(expected);
      });
    }
  }
});

describe("a batch of holds", () => {
  it("accepts a smaller hold after one that does not fit, and names the missing amount", () => {
    const view = viewAfter([]);
    const commands = [hold(70n, "rsv_1"), hold(31n, "rsv_2"), hold(30n, "rsv_3")];
    const { results, changes } = decide(view, commands, context);
    expect(results[0]).to.deep.equal({ currency: "NGN", available: 30n });
    expect(results[1]).to.be.instanceOf(AppError).with.property("code", "insufficient_balance");
    expect((results[1] as AppError).extra).to.deep.equal({
      required_amount: "0.0031",
      available_amount: "0.0030",
      currency: "NGN",
    });
    expect(results[2]).to.deep.equal({ currency: "NGN", available: 0n });
    expect(changes?.wallet.held).to.equal(100n);
    expect(changes?.newReservations.map(({ id }) => id)).to.deep.equal(["rsv_1", "rsv_3"]);
  });

  it("places one hold when the same reservation is in it twice", () => {
    const { results, changes } = decide(viewAfter([]), [hold(60n), hold(60n)], context);
    expect(results[1]).to.deep.equal({ currency: "NGN", available: 40n });
    expect(changes?.wallet.held).to.equal(60n);
    expect(changes?.batch?.movements).to.have.length(1);
  });

  it("refuses another tenant's reservation id without details of it", () => {
    const view = viewAfter([hold()]);
    const other = { ...view, wallet: { ...view.wallet, tenantId: "ten_b" } };
    const codes = [hold(), settle("msg_a", 20n, 1n), release].map(
      (command) => (decide(other, [command], context).results[0] as AppError).code,
    );
    expect(codes).to.deep.equal(["idempotency_key_reused", "not_found", "not_found"]);
  });

  it("refuses new holds of a frozen wallet and settles its old ones", () => {
    const { wallet, ...rest } = viewAfter([hold()]);
    const view: View = { ...rest, wallet: { ...wallet, frozen: true } };
    const commands = [hold(1n, "rsv_2"), hold(), settle("msg_a", 20n, 20n)];
    const { results } = decide(view, commands, context);
    expect(results[0]).to.be.instanceOf(AppError).with.property("code", "tenant_suspended");
    expect(results[1]).to.deep.equal({ currency: "NGN", available: 70n });
    expect(results[2]).to.deep.equal({ isNew: true, differs: false });
  });

  it("distinguishes a repeated settlement from one with other amounts, and keeps the first", () => {
    const view = viewAfter([hold(), settle("msg_a", 20n, 15n)]);
    const commands = [settle("msg_a", 20n, 15n), settle("msg_a", 20n, 0n)];
    const { results, changes } = decide(view, commands, context);
    expect(results).to.deep.equal([
      { isNew: false, differs: false },
      { isNew: false, differs: true },
    ]);
    expect(changes).to.equal(undefined);
  });

  it("names the campaign of a hold in its movements, and none without one", () => {
    const campaignId = "cmp_1";
    const held = { ...hold(), campaignId } as Command;
    const other = hold(10n, "rsv_2");
    const view = viewAfter([held, other]);
    const first = decide(view, [settle("msg_a", 20n, 15n), release], context).changes?.batch;
    expect(first?.movements.map((one) => [one.kind, one.campaignId])).to.deep.equal([
      ...[["capture", campaignId] as const, ["release", campaignId] as const],
      ["release", campaignId],
    ]);
    const both = decide(viewAfter([]), [held, other], context).changes?.batch;
    expect(both?.movements.map((one) => one.campaignId)).to.deep.equal([campaignId, ""]);
    // The campaign of a repeat does not count, like the range of its messages.
    const repeat = { ...hold(), campaignId: "cmp_2" } as Command;
    expect(decide(view, [repeat], context).changes).to.equal(undefined);
  });

  it("settles a part of zero without a movement", () => {
    const { changes } = decide(viewAfter([hold()]), [settle("msg_z", 0n, 0n)], context);
    expect(changes?.batch).to.equal(undefined);
    expect(changes?.settlements).to.have.length(1);
  });

  it("settles a part of zero of a closed reservation, which stays closed", () => {
    const view = viewAfter([hold(), settle("msg_a", 30n, 15n)]);
    const { changes } = decide(view, [settle("msg_z", 0n, 0n)], context);
    const [reservation] = changes?.changedReservations ?? [];
    expect(reservation).to.include({ state: "closed", openAmount: 0n, settledCount: 2 });
    expect(changes?.settlements).to.have.length(1);
  });

  it("refuses to settle more messages than the hold has, and repeats the earlier answers", () => {
    const commands = ["msg_a", "msg_b", "msg_c"].map((id) => settle(id, 10n, 10n));
    const { results, changes } = decide(viewAfter([hold()]), commands, context);
    const done = { isNew: true, differs: false };
    expect(results.slice(0, 2)).to.deep.equal([done, done]);
    expect(results[2]).to.be.instanceOf(AppError).with.property("code", "invalid_state_transition");
    expect(changes?.wallet).to.include({ balance: 80n, held: 10n });
    const again = decide(viewAfter([hold(), ...commands.slice(0, 2)]), commands, context);
    expect(again.results.map((result) => result instanceof AppError)).to.deep.equal([
      false,
      false,
      true,
    ]);
    expect(again.changes).to.equal(undefined);
  });
});
