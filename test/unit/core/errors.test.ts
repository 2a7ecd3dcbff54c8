import { expect } from "chai";
import { AppError, isUnavailable } from "../../../services/shared/core/errors.ts";

describe("isUnavailable", () => {
  const outage = new AppError("service_unavailable", "Busy.");
  const cycle = new Error("cycle");
  cycle.cause = cycle;
  const cases: [string, unknown, boolean][] = [
    ["an outage", outage, true],
    ["an error caused by an outage", new Error("outer", { cause: outage }), true],
    ["another code", new AppError("conflict", "Taken."), false],
    ["another code caused by an outage", new AppError("conflict", "x", { cause: outage }), false],
    ["a plain error", new Error("bug"), false],
    ["a cycle of causes", cycle, false],
    ["no error", undefined, false],
  ];
  for (const [name, error, expected] of cases) {
    it(`is ${expected} for ${name}`, () => {
      expect(isUnavailable(error)).to.equal(expected);
    });
  }
});
