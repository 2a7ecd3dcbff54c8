import { expect } from "chai";
import {
  FUNDING_STATES,
  type FundingState,
  stateAfterRequest,
  WINDOW_FUNDINGS_MAX,
} from "../../../services/wallet/domain/funding-request.ts";

const LIMIT = 100n;
const earlier = (state: FundingState, amount: bigint, decidedBy = "") => ({
  state,
  amount,
  decidedBy,
});

describe("the first state of a funding", () => {
  it("counts the fundings that moved without a second person, and no others", () => {
    const counted = FUNDING_STATES.filter(
      (state) => stateAfterRequest(1n, [earlier(state, LIMIT)], LIMIT) === "pending",
    );
    expect(counted).to.deep.equal(["approved", "funded"]);
    expect(stateAfterRequest(LIMIT, [earlier("funded", LIMIT, "bob")], LIMIT)).to.equal("approved");
  });

  for (const [name, amount, recent, expected] of [
    ["at the limit", LIMIT, [], "approved"],
    ["above it", LIMIT + 1n, [], "pending"],
    ["with others at the limit", 40n, [earlier("funded", 60n)], "approved"],
    ["with others above it", 41n, [earlier("funded", 30n), earlier("approved", 30n)], "pending"],
  ] as const) {
    it(`is ${expected} ${name}`, () => {
      expect(stateAfterRequest(amount, recent, LIMIT)).to.equal(expected);
    });
  }

  it("is pending when the person has more fundings in a day than are summed", () => {
    const recent = Array.from({ length: WINDOW_FUNDINGS_MAX }, () => earlier("refused", 1n));
    expect(stateAfterRequest(1n, recent, LIMIT)).to.equal("pending");
    expect(stateAfterRequest(1n, recent.slice(1), LIMIT)).to.equal("approved");
  });
});
