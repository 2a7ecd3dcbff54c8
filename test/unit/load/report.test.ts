import { expect } from "chai";
import type { StackFile } from "../../../deploy/dev/stack-file.ts";
import { sendByTurn } from "../../load/growth-parties.ts";
import { floodRows, type Overload } from "../../load/overload.ts";
import { failUnlessMet, verdictOf } from "../../load/report.ts";
import { saysWhen } from "../../load/sends.ts";

describe("the verdict on a row of a benchmark", () => {
  for (const [budget, met, notChecked, verdict, code] of [
    ["4,000/s", true, undefined, "met", undefined],
    ["4,000/s", false, undefined, "NOT met", 1],
    ["4,000/s", true, "not checked at 300,000", "not checked at 300,000", undefined],
    ["4,000/s", false, "not checked at 300,000", "not checked at 300,000", undefined],
    ["", false, undefined, "", undefined],
  ] as const) {
    it(`is "${verdict}" with budget "${budget}", ${met ? "met" : "not met"}, ${notChecked}`, () => {
      const row = { budget, met, ...(notChecked === undefined ? {} : { notChecked }) };
      expect(verdictOf(row)).to.equal(verdict);
      expect(exitCodeOf(() => failUnlessMet([{ budget: "", met: true }, row]))).to.equal(code);
    });
  }
});

describe("the goodput in a flood", () => {
  const seen: Overload = {
    demand: 3000,
    offered: 30_000,
    accepted: 9000,
    refused: 21_000,
    withoutRetryAfter: 0,
    other: 0,
    seconds: 10,
    p99Ms: 900,
    maxMs: 1000,
    dueP99Ms: 2000,
  };

  for (const [what, change, verdict] of [
    ["four fifths of the peak", {}, "met"],
    ["less", { accepted: 7900 }, "NOT met"],
    ["enough of what was not a flood", { demand: 2690 }, "not checked, 2,690/s demanded"],
    ["enough of just a flood", { demand: 2700 }, "met"],
    ["enough although callers were kept waiting", { offered: 20_000 }, "met"],
  ] as const) {
    it(`is ${verdict} when it is ${what}`, () => {
      const [goodput] = floodRows({ ...seen, ...change }, "a flood", 3, 1000);
      expect(goodput && verdictOf(goodput)).to.equal(verdict);
    });
  }
});

describe("a refusal", () => {
  it("says when to come again, or does not", () => {
    expect(saysWhen("HTTP/1.1 503 \r\nretry-after: 2\r\n")).to.equal(true);
    expect(saysWhen("HTTP/1.1 503 \r\nRetry-After: 17")).to.equal(true);
    expect(saysWhen("HTTP/1.1 503 \r\nx-retry-after: 2\r\n")).to.equal(false);
    expect(saysWhen("HTTP/1.1 503 \r\nRetry-After: soon\r\n")).to.equal(false);
  });
});

describe("sends by turn", () => {
  it("go on in the next round where the one before it ended", () => {
    const stack = { gateway: "http://127.0.0.1:1", api_key: "key", sender_id: "ME" } as StackFile;
    const texts = [sendByTurn(stack), sendByTurn(stack)].flatMap((send) => [send(), send()]);
    expect(new Set(texts.map(String)).size).to.equal(4);
  });
});

function exitCodeOf(work: () => void): typeof process.exitCode {
  const before = process.exitCode;
  process.exitCode = undefined;
  try {
    work();
    return process.exitCode;
  } finally {
    process.exitCode = before;
  }
}
