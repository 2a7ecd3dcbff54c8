/** The retry rule of the TypeScript client (`docs/contract.md#errors`). */
import { expect } from "chai";
import { noResponse, refusedError } from "../../../clients/typescript/src/errors.ts";
import { ERROR_CODES } from "../../../clients/typescript/src/generated/operations.ts";
import { parseRetryAfter, retryWaitMs } from "../../../clients/typescript/src/retry.ts";
import { ERRORS, type ErrorCode } from "../../../services/shared/core/errors.ts";

const problem = (code: ErrorCode, retryAfterMs?: number) => {
  const { http: status, title } = ERRORS[code];
  const text = JSON.stringify({ type: "", title, status, code, detail: "", errors: [] });
  return refusedError({ status, text, retryAfterMs }, 1, ERROR_CODES);
};
const page = (status: number) =>
  refusedError({ status, text: "<html>", retryAfterMs: undefined }, 1, ERROR_CODES);

describe("the retry rule of the client", () => {
  for (const code of Object.keys(ERRORS) as ErrorCode[]) {
    it(`${code} is ${ERRORS[code].retryable ? "retried" : "final"}, as the registry says`, () => {
      expect(retryWaitMs(problem(code), 1, 0)).to.equal(ERRORS[code].retryable ? 1000 : undefined);
    });
  }

  it("a timeout, a lost connection and a proxy's 502, 503 and 504 are retried", () => {
    expect(retryWaitMs(noResponse("timeout", 1, undefined), 1, 0)).to.equal(1000);
    expect(retryWaitMs(noResponse("connection_failed", 1, undefined), 1, 0)).to.equal(1000);
    for (const status of [502, 503, 504]) expect(retryWaitMs(page(status), 1, 0)).to.equal(1000);
    for (const status of [301, 403, 404]) {
      expect(retryWaitMs(page(status), 1, 0), `${status}`).to.equal(undefined);
    }
  });

  it("the wait doubles from 1 s to 60 s, and is up to a quarter longer", () => {
    const waits = [1, 2, 3, 4, 5, 6, 7, 8].map((attempt) =>
      retryWaitMs(problem("internal_error"), attempt, 0),
    );
    expect(waits).to.deep.equal([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
    expect(retryWaitMs(problem("internal_error"), 1, 1)).to.equal(1250);
  });

  it("Retry-After comes first, and one above a minute is left to the caller", () => {
    expect(retryWaitMs(problem("rate_limited", 7000), 3, 0)).to.equal(7000);
    expect(retryWaitMs(problem("service_unavailable", 0), 3, 0)).to.equal(0);
    expect(retryWaitMs(problem("rate_limited", 61_000), 1, 0)).to.equal(undefined);
  });

  it("Retry-After is seconds or a date, and nonsense is ignored", () => {
    const nowMs = Date.parse("2026-11-27T12:00:00Z");
    for (const [header, wanted] of [
      ["3", 3000],
      ["0", 0],
      ["-1", 0],
      ["Fri, 27 Nov 2026 12:00:05 GMT", 5000],
      ["Fri, 27 Nov 2026 11:00:00 GMT", 0],
      ["soon", undefined],
      ["", undefined],
      [null, undefined],
    ] as const) {
      expect(parseRetryAfter(header, nowMs), String(header)).to.equal(wanted);
    }
  });
});
