import { expect } from "chai";
import {
  checkNameRequest,
  createSenderId,
  type Review,
  requestSenderId,
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
      });
    }
  }

  it("needs a reason to reject", () => {
    expect(() => review(base, "reject", " ", 1)).to.throw(AppError, /reason/);
    expect(review(base, "reject", "misleading", 1).rejectionReason).to.equal("misleading");
  });
});

describe("a customer's request of a sender ID", () => {
  const asked = { name: "Acme", useCase: "updates", sample: "Hello" };
  const made = { id: "sid_2", tenantId: "ten_1", nowMs: 9 };
  const few = { all: 1, pending: 0 };
  const codeOf = (run: () => unknown) => {
    try {
      run();
    } catch (error) {
      return [(error as AppError).code, ...(error as AppError).fields.map(({ code }) => code)];
    }
    return [];
  };

  it("makes a pending one, or makes a rejected one pending again under its id", () => {
    expect(requestSenderId(undefined, asked, few, made)).to.include({
      ...{ id: "sid_2", status: "pending", useCase: "updates", sample: "Hello", createdAtMs: 9 },
    });
    const rejected = review(base, "reject", "misleading", 1);
    expect(requestSenderId(rejected, { ...asked, name: "ACME" }, few, made)).to.include({
      ...{ id: "sid_1", name: "ACME", status: "pending", rejectionReason: "", updatedAtMs: 9 },
    });
  });

  for (const status of ["pending", "approved", "suspended"] as const) {
    it(`of a ${status} one is already_exists`, () => {
      const run = () => requestSenderId({ ...base, status }, asked, few, made);
      expect(codeOf(run)).to.deep.equal(["already_exists"]);
    });
  }

  it("is refused beyond 10 pending names, and a new one beyond 200 in all", () => {
    const rejected = review(base, "reject", "misleading", 1);
    const tooMany = ["validation_error", "too_many"];
    const ask = (present: SenderId | undefined, all: number, pending: number) =>
      codeOf(() => requestSenderId(present, asked, { all, pending }, made));
    expect(ask(undefined, 20, 10)).to.deep.equal(tooMany);
    expect(ask(rejected, 20, 10)).to.deep.equal(tooMany);
    expect(ask(undefined, 200, 9)).to.deep.equal(tooMany);
    expect(ask(rejected, 200, 9)).to.deep.equal([]);
  });

  it("names every wrong field", () => {
    const run = () => checkNameRequest({ name: "a", useCase: " ", sample: "x".repeat(1601) });
    expect(codeOf(run)).to.deep.equal([
      ...["validation_error", "invalid_format", "required", "too_long"],
    ]);
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
