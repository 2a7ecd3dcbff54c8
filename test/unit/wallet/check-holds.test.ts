import { expect } from "chai";
import {
  type CheckedReservation,
  type CheckedSettlement,
  checkReservation,
} from "../../../services/wallet/domain/check-holds.ts";

const RESERVATION: CheckedReservation = {
  id: "rsv_1",
  tenantId: "ten_a",
  amount: 30n,
  openAmount: 10n,
  fencedAmount: 0n,
  state: "open",
  messageCount: 2,
};

const SETTLEMENT: CheckedSettlement = {
  messageId: "msg_1",
  tenantId: "ten_a",
  reservationId: "rsv_1",
  heldAmount: 20n,
  capturedAmount: 15n,
};

function check(
  reservation: Partial<CheckedReservation>,
  settlements: readonly Partial<CheckedSettlement>[] = [{}],
): string[] {
  const all = settlements.map((change) => ({ ...SETTLEMENT, ...change }));
  const found = checkReservation(new Map(), { ...RESERVATION, ...reservation }, all);
  return found.map(({ invariant, what, ids }) => `${invariant} ${what} (${ids.join(" ")})`);
}

describe("the check of a hold", () => {
  it("accepts an open, a settled and a fenced reservation", () => {
    expect(check({})).to.deep.equal([]);
    expect(check({ openAmount: 0n, state: "closed", amount: 20n })).to.deep.equal([]);
    const fenced = { openAmount: 0n, fencedAmount: 30n, state: "closed" } as const;
    expect(check(fenced, [])).to.deep.equal([]);
  });

  it("adds the open amount to the tenant's sum", () => {
    const sums = new Map();
    for (const id of ["rsv_1", "rsv_2"]) checkReservation(sums, { ...RESERVATION, id }, []);
    expect(sums.get("ten_a")?.open).to.equal(20n);
  });

  const settledThrice = ["msg_1", "msg_2", "msg_3"].map((messageId) => ({ messageId }));
  for (const [what, found, wanted] of [
    [
      "a settlement by another tenant",
      check({}, [{ tenantId: "ten_b" }]),
      ["9 settled by another tenant (rsv_1 msg_1)"],
    ],
    [
      "a capture of more than was held",
      check({}, [{ capturedAmount: 21n }]),
      ["2 captured more than was held (rsv_1 msg_1)"],
    ],
    [
      "a negative capture",
      check({}, [{ capturedAmount: -1n }]),
      ["2 captured more than was held (rsv_1 msg_1)"],
    ],
    [
      "a negative open amount",
      check({ openAmount: -1n, amount: 19n, state: "closed" }),
      ["1 less than nothing is open (rsv_1)"],
    ],
    [
      "amounts that do not add up",
      check({ amount: 31n }),
      ["1 holds 0.0031, but 0.0010 open + 0.0020 settled + 0.0000 fenced (rsv_1)"],
    ],
    [
      "a closed one with an open amount",
      check({ state: "closed" }),
      ["1 is closed with 0.0010 open (rsv_1)"],
    ],
    [
      "an open one without an open amount",
      check({ openAmount: 0n, amount: 20n }),
      ["1 is open with 0.0000 open (rsv_1)"],
    ],
    [
      "more settlements than messages",
      check({ amount: 70n }, settledThrice),
      ["2 has 3 settlements for 2 messages (rsv_1)"],
    ],
  ] as const) {
    it(`names ${what}`, () => expect(found).to.deep.equal(wanted));
  }
});
