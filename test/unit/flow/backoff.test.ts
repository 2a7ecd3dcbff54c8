import { expect } from "chai";
import { answerWithin, backoffMs, pause } from "../../../services/shared/flow/backoff.ts";

describe("backoffMs", () => {
  for (const { attempt, baseMs, capMs, minMs, maxMs } of [
    { attempt: 0, baseMs: 100, capMs: 5000, minMs: 50, maxMs: 100 },
    { attempt: 1, baseMs: 100, capMs: 5000, minMs: 100, maxMs: 200 },
    { attempt: 5, baseMs: 100, capMs: 5000, minMs: 1600, maxMs: 3200 },
    { attempt: 6, baseMs: 100, capMs: 5000, minMs: 2500, maxMs: 5000 },
    { attempt: 1e9, baseMs: 100, capMs: 5000, minMs: 2500, maxMs: 5000 },
  ]) {
    it(`is between ${minMs} and ${maxMs} ms at attempt ${attempt}`, () => {
      for (let sample = 0; sample < 100; sample += 1) {
        expect(backoffMs(attempt, baseMs, capMs)).to.be.within(minMs, maxMs);
      }
    });
  }
});

describe("pause", () => {
  it("returns at once when its signal is aborted before or during the wait", async () => {
    const abort = new AbortController();
    const waiting = pause(60_000, abort.signal);
    abort.abort();
    await waiting;
    await pause(60_000, abort.signal);
  });
});

describe("answerWithin", () => {
  const never = new Promise<number>(() => undefined);
  it("returns the result of work that ends in time", async () => {
    expect(await answerWithin(Promise.resolve(1), 60_000)).to.equal(1);
  });
  it("returns undefined once the time is over", async () => {
    expect(await answerWithin(never, 1)).to.equal(undefined);
  });
  it("rejects when the work rejects in time", async () => {
    const end = answerWithin(Promise.reject(new Error("failed")), 60_000);
    expect(await end.catch((error: Error) => error.message)).to.equal("failed");
  });
});
