import { expect } from "chai";
import {
  createSenderId,
  isUsable,
  type Review,
  review,
  type SenderId,
  type SenderIdStatus,
} from "../../../services/sender-id/domain/sender-id.ts";
import { AppError } from "../../../services/shared/core/errors.ts";

const base: SenderId = createSenderId({
  id: "sid_1",
  tenantId: "ten_1",
  name: "Acme",
  isApproved: false,
  nowMs: 0,
});

/** Every state with every review: the new state, or "no". */
const TABLE: Record<SenderIdStatus, Record<Review, SenderIdStatus | "no">> = {
  pending: { approve: "approved", reject: "rejected", suspend: "no", reinstate: "no" },
  approved: { approve: "approved", reject: "no", suspend: "suspended", reinstate: "approved" },
  rejected: { approve: "approved", reject: "rejected", suspend: "no", reinstate: "no" },
  suspended: { approve: "no", reject: "no", suspend: "suspended", reinstate: "approved" },
};

describe("reviews of a sender ID", () => {
  for (const [status, reviews] of Object.entries(TABLE)) {
    for (const [action, expected] of Object.entries(reviews)) {
      it(`${action} of a ${status} one gives ${expected}`, () => {
        const before = { ...base, status: status as SenderIdStatus };
        const run = () => review(before, action as Review, "misleading", 7);
        if (expected === "no") {
          expect(run).to.throw(AppError).with.property("code", "invalid_state_transition");
          return;
        }
        const after = run();
        expect(after.status).to.equal(expected);
        if (expected === status) expect(after).to.equal(before);
        expect(isUsable(after)).to.equal(expected === "approved");
      });
    }
  }

  it("needs a reason to reject", () => {
    expect(() => review(base, "reject", " ", 1)).to.throw(AppError, /reason/);
    expect(review(base, "reject", "misleading", 1).rejectionReason).to.equal("misleading");
  });
});

describe("names of sender IDs", () => {
  it("have 3 to 11 allowed characters", () => {
    const make = (name: string) => () =>
      createSenderId({ id: "sid_1", tenantId: "ten_1", name, isApproved: false, nowMs: 0 });
    for (const name of ["ABC", "My Shop", "a.b-c", "12345678901"])
      expect(make(name)).not.to.throw();
    for (const name of ["AB", "123456789012", "Shop!", "Ümlaut", " Shop", "Shop ", ""]) {
      expect(make(name), name).to.throw(AppError);
    }
  });
});
