import { expect } from "chai";
import {
  countChanges,
  EMPTY_PROGRESS,
  totalOf,
} from "../../../services/campaign/domain/progress.ts";
import {
  applyFeedResult,
  applyMessageChange,
  type MessageChange,
  type Row,
} from "../../../services/campaign/domain/row.ts";
import type { RowStatus } from "../../../services/shared/core/campaign-status.ts";

const WAITING: Row = {
  ...{ rowSet: "cmp_1", index: 0, to: "+2348030000000", variables: {} },
  ...{ clientReference: undefined, status: "waiting", messageId: undefined, messageAtMs: 0 },
  ...{ held: 0n, amount: 0n, takenBack: [], error: undefined },
};

const rowOf = (status: RowStatus, changes: Partial<Row> = {}): Row => ({
  ...WAITING,
  ...{ status, messageId: "msg_1", messageAtMs: 10, held: 4n },
  ...changes,
});

const change = (status: MessageChange["status"], changes: Partial<MessageChange> = {}) => ({
  ...{ messageId: "msg_1", to: WAITING.to, status, held: 4n, amount: 0n, updatedAtMs: 20 },
  error: undefined,
  ...changes,
});

describe("the answer of a chunk", () => {
  const queued = { kind: "queued", messageId: "msg_1", held: 4n, atMs: 10 } as const;

  it("gives a waiting row its message, or its error", () => {
    expect(applyFeedResult(WAITING, queued)).to.include({ status: "queued", messageId: "msg_1" });
    const error = { code: "invalid_recipient", message: "No." };
    expect(applyFeedResult(WAITING, { kind: "rejected", error })).to.include({
      status: "rejected",
      error,
    });
  });

  it("changes nothing the second time, or after an event of the message", () => {
    expect(applyFeedResult(rowOf("queued"), queued)).to.equal(undefined);
    expect(applyFeedResult(rowOf("delivered"), queued)).to.equal(undefined);
  });

  it("leaves a row waiting whose message was taken back before", () => {
    expect(applyFeedResult({ ...WAITING, takenBack: ["msg_1"] }, queued)).to.equal(undefined);
  });
});

describe("an event of a message", () => {
  it("moves its row on, and never back", () => {
    expect(applyMessageChange(rowOf("queued"), change("sent"), true)?.status).to.equal("sent");
    expect(applyMessageChange(rowOf("delivered"), change("sent"), true)).to.equal(undefined);
    expect(applyMessageChange(rowOf("sent"), change("sent"), true)).to.equal(undefined);
    const late = change("delivered", { updatedAtMs: 30 });
    expect(applyMessageChange(rowOf("expired"), late, true)?.status).to.equal("delivered");
    for (const updatedAtMs of [5, 30]) {
      const failed = change("undelivered", { updatedAtMs });
      expect(applyMessageChange(rowOf("delivered"), failed, true)).to.equal(undefined);
      expect(applyMessageChange(rowOf("sent"), failed, true)?.messageAtMs).to.equal(updatedAtMs);
    }
    const older = change("expired", { updatedAtMs: 5 });
    expect(applyMessageChange(rowOf("undelivered"), older, true)).to.equal(undefined);
  });

  it("gives its row the message when it comes before the chunk's answer", () => {
    const row = applyMessageChange(WAITING, change("sent", { amount: 4n }), true);
    expect(row).to.include({ status: "sent", messageId: "msg_1", amount: 4n });
  });

  it("makes the row of a cancelled message wait again while the campaign is open", () => {
    const again = applyMessageChange(rowOf("queued"), change("cancelled"), true);
    expect(again).to.include({ status: "waiting", messageId: undefined, held: 0n });
    expect(again?.takenBack).to.deep.equal(["msg_1"]);
    expect(again && applyMessageChange(again, change("cancelled"), true)).to.equal(undefined);
    const ended = applyMessageChange(rowOf("queued"), change("cancelled"), false);
    expect(ended).to.include({ status: "cancelled", messageId: "msg_1" });
  });

  it("of another message than the row's changes nothing", () => {
    const other = change("sent", { messageId: "msg_0" });
    expect(applyMessageChange(rowOf("queued"), other, true)).to.equal(undefined);
    const verdict = { ...WAITING, status: "rejected" as const };
    expect(applyMessageChange(verdict, change("sent"), true)).to.equal(undefined);
  });
});

describe("the counts of a campaign", () => {
  it("count each row once, its hold while it is queued, and its charge", () => {
    const added = countChanges(EMPTY_PROGRESS, [{ before: undefined, after: WAITING }]);
    expect(added).to.include({ waiting: 1, held: 0n, charged: 0n });
    const queued = countChanges(added, [{ before: WAITING, after: rowOf("queued") }]);
    expect(queued).to.include({ waiting: 0, queued: 1, held: 4n });
    const sent = rowOf("sent", { amount: 3n });
    const charged = countChanges(queued, [{ before: rowOf("queued"), after: sent }]);
    expect(charged).to.include({ queued: 0, sent: 1, held: 0n, charged: 3n });
    const gone = countChanges(charged, [{ before: sent, after: undefined }]);
    expect(gone).to.deep.equal(EMPTY_PROGRESS);
    expect(totalOf(charged)).to.equal(1);
  });
});
