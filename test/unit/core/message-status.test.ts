import { expect } from "chai";
import {
  isChargedStatus,
  isFinalStatus,
  MESSAGE_MOVES,
  MESSAGE_STATUSES,
  type MessageStatus,
} from "../../../services/shared/core/message-status.ts";
import { isLegalMove } from "../../../services/shared/core/state-table.ts";

/** Every transition of the contract's table, and those to `failed`, as from → to. */
const MOVES = new Set([
  "scheduled → queued",
  "scheduled → cancelled",
  "scheduled → failed",
  "queued → sent",
  "queued → failed",
  "queued → cancelled",
  "sent → delivered",
  "sent → undelivered",
  "sent → expired",
  "undelivered → delivered",
  "expired → delivered",
  "expired → undelivered",
]);

/** The contract's table of statuses: final, charged. */
const FACTS: Readonly<Record<MessageStatus, readonly [boolean, boolean]>> = {
  scheduled: [false, false],
  queued: [false, false],
  sent: [false, true],
  delivered: [true, true],
  undelivered: [true, true],
  expired: [true, true],
  rejected: [true, false],
  failed: [true, false],
  cancelled: [true, false],
};

describe("the status table", () => {
  for (const from of MESSAGE_STATUSES) {
    for (const to of MESSAGE_STATUSES) {
      const move = `${from} → ${to}`;
      const isLegal = MOVES.has(move);
      it(`${isLegal ? "allows" : "refuses"} ${move}`, () => {
        expect(isLegalMove(MESSAGE_MOVES, from, to)).to.equal(isLegal);
      });
    }
  }

  for (const status of MESSAGE_STATUSES) {
    const [isFinal, isCharged] = FACTS[status];
    it(`${status} is ${isFinal ? "" : "not "}final and ${isCharged ? "" : "not "}charged`, () => {
      expect([isFinalStatus(status), isChargedStatus(status)]).to.deep.equal([isFinal, isCharged]);
    });
  }

  it("nothing leaves delivered", () => {
    expect(MESSAGE_MOVES.delivered).to.deep.equal([]);
  });
});
