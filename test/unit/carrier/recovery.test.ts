import { expect } from "chai";
import { recoverClaims } from "../../../services/carrier/app/recovery.ts";
import { readOpenEntries, writtenLines } from "../../../services/carrier/domain/journal-lines.ts";
import type { UnknownSubmission } from "../../../services/carrier/domain/submission.ts";
import { createManualClock } from "../../../services/shared/core/clock.ts";
import { createLogger } from "../../../services/shared/io/log.ts";
import { claimed } from "../../support/carrier-messages.ts";

const ENTRY = { messageId: "msg_a", connectorId: "smsc", to: "+2348031234567", from: "DEMO" };

/** Recovers from a journal; returns the segments in doubt and the messages reported as written. */
async function recover(text: string) {
  const unknowns: UnknownSubmission[] = [];
  const written: string[] = [];
  const settled: string[] = [];
  await recoverClaims({
    journal: {
      inherited: readOpenEntries(text),
      orphaned: new Map(),
      markSettled: (messageIds) => void settled.push(...messageIds),
    },
    messaging: {
      recoverClaims: async (messageIds) => {
        written.push(...messageIds);
        return { givenBack: 0, inDoubt: messageIds.length, partlyWritten: [] };
      },
    },
    store: { saveUnknowns: async (items) => void unknowns.push(...items) },
    clock: createManualClock(9000),
    log: createLogger("test", "silent"),
    signal: new AbortController().signal,
  });
  expect(settled).to.deep.equal(written);
  expect(new Set(unknowns.map(({ to, from }) => `${to} ${from}`))).to.deep.equal(
    new Set(["2348031234567 demo"]),
  );
  expect(
    unknowns.every(({ atMs }) => atMs === 9000),
    "in doubt from now on",
  ).to.equal(true);
  expect(
    unknowns.every(({ submittedAtMs }) => submittedAtMs === 7),
    "submitted at the journal's time",
  ).to.equal(true);
  return { written, segments: unknowns.map(({ segment }) => segment) };
}

describe("messages that a dead process left in doubt", () => {
  const cases: readonly (readonly [string, number, number, readonly number[]])[] = [
    ["in one part get receipts for the whole message", 1, 1, [0]],
    ["in several parts get receipts by segment", 2, 2, [1, 2]],
    [
      "whose carrier sends one receipt for all parts get receipts for the whole message",
      2,
      0,
      [0, 0],
    ],
    ["in more parts than segments get receipts by part", 3, 2, [1, 2, 3]],
  ];
  for (const [description, parts, segments, expected] of cases) {
    it(`messages ${description}`, async () => {
      const recovered = await recover(writtenLines({ ...ENTRY, parts, segments, atMs: 7 }));
      expect(recovered).to.deep.equal({ written: ["msg_a"], segments: expected });
    });
  }

  it("a journal line without segments counts each part as a segment", async () => {
    const line = "W\tmsg_a\tsmsc\t+2348031234567\tDEMO\t3\t7\n";
    expect((await recover(line)).segments).to.deep.equal([1, 2, 3]);
  });

  it("partly written messages keep their journal entries and are returned with their written parts", async () => {
    const lines = [
      writtenLines({ ...ENTRY, parts: 3, segments: 3, atMs: 7, written: new Set([0, 1]) }),
      writtenLines({
        ...ENTRY,
        messageId: "msg_b",
        parts: 2,
        segments: 2,
        atMs: 7,
        written: new Set([0, 1]),
      }),
      writtenLines({
        ...ENTRY,
        messageId: "msg_c",
        parts: 2,
        segments: 0,
        atMs: 7,
        written: new Set([0]),
      }),
      writtenLines({
        ...ENTRY,
        messageId: "msg_d",
        parts: 2,
        segments: 2,
        atMs: 7,
        written: new Set([0]),
      }),
      writtenLines({
        ...ENTRY,
        messageId: "msg_e",
        parts: 2,
        segments: 2,
        atMs: 7,
        written: new Set([0, 1]),
        refused: new Set([1]),
      }),
      // Written again after its refusal.
      "P\tmsg_e\t1\nN\tmsg_e\t1\n",
    ];
    const settled: string[] = [];
    const unknowns: UnknownSubmission[] = [];
    const asked: string[] = [];
    const left = await recoverClaims({
      journal: {
        inherited: readOpenEntries(lines.join("")),
        orphaned: new Map(),
        markSettled: (messageIds) => void settled.push(...messageIds),
      },
      messaging: {
        async recoverClaims(_, partlyWritten) {
          asked.push(...partlyWritten);
          const claims = ["msg_a", "msg_e"].map((messageId) => claimed({ messageId }));
          return { givenBack: 0, inDoubt: 5, partlyWritten: claims };
        },
      },
      store: { saveUnknowns: async (items) => void unknowns.push(...items) },
      clock: createManualClock(9000),
      log: createLogger("test", "silent"),
      signal: new AbortController().signal,
    });
    expect(asked).to.deep.equal(["msg_a", "msg_d", "msg_e"]);
    expect(settled).to.deep.equal(["msg_b", "msg_c", "msg_d"]);
    expect(
      left.get("smsc")?.map(({ written, isFirstTaken }) => [[...written], isFirstTaken]),
    ).to.deep.equal([
      [[0, 1], true],
      [[0], true],
    ]);
    const segmentsOf = (id: string) =>
      unknowns.filter(({ messageId }) => messageId === id).map(({ segment }) => segment);
    expect(segmentsOf("msg_a")).to.deep.equal([1, 2]);
    expect(segmentsOf("msg_e"), "a refused part is not in doubt").to.deep.equal([1]);
  });
});
