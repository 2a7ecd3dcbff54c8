import { expect } from "chai";
import { lostBetween } from "../../services/shared/io/event-loss.ts";

describe("events that a stream has dropped before a consumer had them", () => {
  const look = (pending: number, deliveredSeq: number, firstSeq: number) => ({
    pending,
    deliveredSeq,
    firstSeq,
  });
  for (const [what, before, now, lost] of [
    ["nothing was looked at before", undefined, look(5, 0, 9), 0],
    ["nothing was dropped", look(50, 100, 1), look(60, 100, 1), 0],
    ["only consumed ones were dropped", look(50, 100, 1), look(50, 110, 90), 0],
    [
      "the consumer stood, and its next ones were dropped",
      look(50, 100, 1),
      look(30, 100, 121),
      20,
    ],
    ["more were dropped than it waited for", look(50, 100, 1), look(0, 100, 500), 50],
    ["they were told of before", look(30, 100, 121), look(25, 100, 126), 5],
    [
      "it waited for nothing: what was dropped was not for it",
      look(0, 100, 1),
      look(0, 100, 500),
      0,
    ],
  ] as const) {
    it(`${what}: ${lost}`, () => expect(lostBetween(before, now)).to.equal(lost));
  }
});
