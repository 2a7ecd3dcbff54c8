import { expect } from "chai";
import { type RetryOptions, retry } from "../../../services/shared/flow/retry.ts";

describe("retry", () => {
  const aborted = AbortSignal.abort();
  const cases: {
    name: string;
    failures: number;
    options?: Partial<RetryOptions>;
    attempts: number;
    isOk: boolean;
  }[] = [
    { name: "success at once", failures: 0, attempts: 1, isOk: true },
    { name: "success after failures", failures: 3, attempts: 4, isOk: true },
    { name: "attemptsMax", failures: 9, options: { attemptsMax: 3 }, attempts: 3, isOk: false },
    { name: "a time limit", failures: 9, options: { limitMs: -1 }, attempts: 1, isOk: false },
    { name: "an abort", failures: 9, options: { signal: aborted }, attempts: 1, isOk: false },
    {
      name: "an error that is not retryable",
      failures: 9,
      options: { isRetryable: (error) => (error as Error).message === "failure 1" },
      attempts: 2,
      isOk: false,
    },
  ];
  for (const { name, failures, options, attempts, isOk } of cases) {
    it(`${isOk ? "resolves" : "rejects with the last error"} after ${attempts} attempts: ${name}`, async () => {
      let count = 0;
      const retried: number[] = [];
      const work = async () => {
        count += 1;
        if (count <= failures) throw new Error(`failure ${count}`);
        return "done";
      };
      const onRetry = (_: unknown, attempt: number) => retried.push(attempt);
      const end = await retry(work, { baseMs: 1, capMs: 2, onRetry, ...options }).catch(
        (error: Error) => error.message,
      );
      expect(end).to.equal(isOk ? "done" : `failure ${attempts}`);
      expect(count).to.equal(attempts);
      expect(retried).to.deep.equal(Array.from({ length: attempts - 1 }, (_, at) => at));
    });
  }
});
