import { expect } from "chai";
import fc from "fast-check";
import { newId } from "../../../services/shared/core/ids.ts";
import {
  ENTRY_KINDS,
  MOVEMENTS,
  postingsOf,
  sumOf,
} from "../../../services/wallet/domain/account.ts";
import {
  addBatch,
  compareWallet,
  emptyLedger,
} from "../../../services/wallet/domain/check-ledger.ts";
import {
  type EntryBatch,
  effectOf,
  entriesOf,
  hashBatch,
  type Movement,
  nextBatch,
  totalsOf,
} from "../../../services/wallet/domain/entry.ts";
import {
  addItem,
  emptyFingerprint,
  isSameSet,
} from "../../../services/wallet/domain/fingerprint.ts";
import { decodePlace, encodePlace } from "../../../services/wallet/domain/statement.ts";
import { newWallet, type Wallet } from "../../../services/wallet/domain/wallet.ts";

const movement = (kind: Movement["kind"], amount: bigint): Movement => ({
  id: newId("entry"),
  kind,
  amount,
  reservationId: "rsv_1",
  messageId: kind === "capture" ? "msg_1" : "",
  campaignId: "",
  reference: "",
  reason: "",
  actor: "",
});

/** Computed by version 0.2.0. */
const HASH = "204dd2eb6486afd8722bc31ae37e7ce7470d4f652f8df8fc3e5a74e5a4007743";

/** A wallet with three batches. */
function ledger(): { wallet: Wallet; batches: EntryBatch[] } {
  let wallet = newWallet("ten_a", "NGN", 0n, 0);
  const batches: EntryBatch[] = [];
  for (const movements of [
    [movement("fund", 100n)],
    [movement("hold", 30n), movement("hold", 20n)],
    [movement("capture", 25n), movement("release", 5n)],
  ]) {
    let { balance, held } = wallet;
    for (const { kind, amount } of movements) {
      const effect = effectOf(kind, amount);
      balance += effect.balance;
      held += effect.held;
    }
    const batch = nextBatch(wallet, { balance, held }, movements, 1000);
    batches.push(batch);
    wallet = { ...wallet, balance, held, sequence: batch.sequence, lastHash: batch.hash };
  }
  return { wallet, batches };
}

function check(batches: readonly EntryBatch[], wallet: Wallet): string[] {
  const sum = emptyLedger("ten_a");
  const breaches = batches.flatMap((batch) => addBatch(sum, batch));
  return [...breaches, ...compareWallet(sum, wallet)].map(({ what }) => what);
}

describe("the hash of a batch", () => {
  const batch = (change: Partial<Movement>) => ({
    ...{ tenantId: "ten_a", currency: "NGN", sequence: 1, createdAtMs: 1000 },
    ...{ balanceAfter: 100n, heldAfter: 30n },
    movements: [{ ...movement("hold", 30n), id: "led_1", ...change }],
  });

  it("is that of version 0.2.0 for a movement without a campaign", () => {
    expect(hashBatch("", batch({}))).to.equal(HASH);
  });

  it("covers a campaign where version 0.2.0 covers a reference, so each version checks the other's", () => {
    const own = hashBatch("", batch({ campaignId: "cmp_1" }));
    expect(own).to.not.equal(HASH);
    expect(own).to.equal(hashBatch("", batch({ reference: "cmp_1" })));
  });
});

describe("double entry", () => {
  for (const kind of ENTRY_KINDS) {
    it(`a ${kind} takes from ${MOVEMENTS[kind].from} what it gives to ${MOVEMENTS[kind].to}`, () => {
      const [one, other] = postingsOf(kind, 7n);
      expect(one.amount + other.amount).to.equal(0n);
      expect(sumOf(totalsOf([movement(kind, 7n)]))).to.equal(0n);
      const totals = totalsOf([movement(kind, 7n)]);
      const { balance, held } = effectOf(kind, 7n);
      expect(totals.available + totals.held).to.equal(balance);
      expect(totals.held).to.equal(held);
    });
  }
});

describe("the statement", () => {
  it("shows the balances right after each movement of a batch", () => {
    const { batches } = ledger();
    const lines = batches.flatMap(entriesOf).map((entry) => [entry.balanceAfter, entry.heldAfter]);
    expect(lines).to.deep.equal([
      [100n, 0n],
      [100n, 30n],
      [100n, 50n],
      [75n, 25n],
      [75n, 20n],
    ]);
  });

  it("reads back its own cursors and refuses anything else", () => {
    expect(decodePlace(encodePlace({ sequence: 12, position: 3 }))).to.deep.equal({
      sequence: 12,
      position: 3,
    });
    for (const wrong of ["x", "1", "1.", ".1", "1.2.3", "-1.0", "1e3.0"]) {
      expect(() => decodePlace(wrong), wrong).to.throw("cursor");
    }
  });
});

describe("the check of a ledger", () => {
  it("accepts a sound ledger", () => {
    const { batches, wallet } = ledger();
    expect(check(batches, wallet)).to.deep.equal([]);
  });

  type Tamper = (batches: EntryBatch[]) => EntryBatch[];
  const inFirst =
    (change: (first: EntryBatch) => Partial<EntryBatch>): Tamper =>
    ([first, ...rest]) => [{ ...(first as EntryBatch), ...change(first as EntryBatch) }, ...rest];
  const ofMovements = (change: Partial<Movement>) =>
    inFirst(({ movements }) => ({ movements: movements.map((one) => ({ ...one, ...change })) }));
  const TAMPERINGS: readonly (readonly [string, Tamper, string])[] = [
    [
      "a removed batch",
      ([first, , third]) => [first, third] as EntryBatch[],
      "batch 3: follows 1: batches are missing",
    ],
    ["a removed last batch", (batches) => batches.slice(0, -1), "the wallet's sequence is 3"],
    ["a changed reason", ofMovements({ reason: "gift" }), "batch 1: its hash is wrong"],
    ["a changed amount", ofMovements({ amount: 101n }), "batch 1: its totals are not those"],
    ["a changed date", inFirst(() => ({ createdAtMs: 999 })), "batch 1: its hash is wrong"],
    [
      "totals of another batch",
      ([first, second, third]) =>
        [{ ...first, totals: second?.totals }, second, third] as EntryBatch[],
      "batch 1: its totals are not those",
    ],
    [
      "totals that do not balance",
      inFirst(({ totals }) => ({ totals: { ...totals, funding: totals.funding + 1n } })),
      "batch 1: its accounts do not sum to zero",
    ],
    [
      "two batches swapped",
      ([first, second, third]) => [first, third, second] as EntryBatch[],
      "batch 3: follows 1: batches are missing",
    ],
  ];
  for (const [name, tamper, words] of TAMPERINGS) {
    it(`notices ${name}`, () => {
      const { batches, wallet } = ledger();
      expect(check(tamper(batches), wallet).join("; ")).to.include(words);
    });
  }

  // Each batch has a valid hash: only the figures are wrong.
  const start = newWallet("ten_a", "NGN", 0n, 0);
  const sealed = (movements: readonly Movement[], balance: bigint, held: bigint) =>
    addBatch(emptyLedger("ten_a"), nextBatch(start, { balance, held }, movements, 1000));
  for (const [name, found, words] of [
    [
      "a hold of more than there is",
      sealed([movement("fund", 100n), movement("hold", 150n)], 100n, 150n),
      "available is negative after",
    ],
    [
      "a release of more than is held",
      sealed([movement("fund", 100n), movement("hold", 50n), movement("release", 60n)], 100n, -10n),
      "held is negative after",
    ],
    [
      "figures that are not what the movements lead to",
      sealed([movement("fund", 100n)], 101n, 0n),
      "its figures are not what its movements lead to",
    ],
  ] as const) {
    it(`notices ${name}`, () => {
      expect(found).to.have.length(1);
      expect(found[0]?.what).to.include(words);
    });
  }

  it("notices a wallet that shows other figures than its entries", () => {
    const { batches, wallet } = ledger();
    const [balance] = check(batches, { ...wallet, balance: 76n });
    expect(balance).to.match(/balance is 0\.0076, .* lead to 0\.0075/);
    const [held] = check(batches, { ...wallet, held: 21n });
    expect(held).to.match(/held is 0\.0021, .* lead to 0\.0020/);
  });
});

describe("a fingerprint", () => {
  const print = (items: readonly string[]) => {
    const fingerprint = emptyFingerprint();
    for (const item of items) addItem(fingerprint, item);
    return fingerprint;
  };

  it("is the same in any order", () => {
    fc.assert(
      fc.property(fc.array(fc.string()), (items) => {
        expect(isSameSet(print(items), print(items.toReversed()))).to.equal(true);
      }),
    );
  });

  it("differs when an item is missing, doubled or changed", () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { minLength: 1 }), fc.string(), (items, other) => {
        const [first, ...rest] = items as [string, ...string[]];
        fc.pre(first !== other);
        expect(isSameSet(print(items), print(rest))).to.equal(false);
        expect(isSameSet(print(items), print([first, ...items]))).to.equal(false);
        expect(isSameSet(print(items), print([other, ...rest]))).to.equal(false);
      }),
    );
  });
});
