import { expect } from "chai";
import { startDeadlineTimer } from "../../../services/shared/flow/deadline-timer.ts";

describe("a deadline timer", () => {
  it("lets waiting input run first when the process was blocked past the deadline", async () => {
    const events: string[] = [];
    const expired = Promise.withResolvers<void>();
    startDeadlineTimer(1, () => {
      events.push("expired");
      expired.resolve();
    });
    setImmediate(() => events.push("input"));
    const untilMs = performance.now() + 5;
    while (performance.now() < untilMs);
    await expired.promise;
    expect(events).to.deep.equal(["input", "expired"]);
  });
});
