import { expect } from "chai";
import type { Message } from "../../../services/messaging/domain/message.ts";
import { checkMessage } from "../../../services/messaging/domain/message-invariants.ts";
import { messageIn, START_MS, STATE_NAMES, type StateName } from "../../support/messages.ts";

const whats = (message: Message) =>
  checkMessage(message).map(({ invariant, what }) => `${invariant} ${what}`);
const changed = (state: StateName, change: Partial<Message>) => ({
  ...messageIn(state),
  ...change,
});

/** A history of so many steps, a second apart. */
const history = (...statuses: readonly Message["status"][]): Message["history"] =>
  statuses.map((status, at) => ({ status, atMs: START_MS + at * 1000, error: undefined }));

describe("the check of a message", () => {
  for (const state of STATE_NAMES) {
    it(`finds no breach in a message that is ${state}`, () => {
      expect(whats(messageIn(state))).to.deep.equal([]);
    });
  }

  for (const [what, message, wanted] of [
    [
      "a submit in its quiet hours",
      changed("sent", {
        sentAtMs: START_MS + 1_300_000,
        claim: {
          ...{ id: "claim-1", carrierId: "carrier-1", atMs: START_MS },
          openSpan: { fromMs: START_MS, untilMs: START_MS + 60_000 },
        },
      }),
      ["14 sent in its recipient's quiet hours"],
    ],
    [
      "no history at all",
      changed("waiting", { history: [] }),
      [
        "5 the history does not begin with acceptance",
        "5 the history does not end with the status",
      ],
    ],
    [
      "a history that begins with sent",
      changed("sent", { history: history("sent") }),
      ["5 the history does not begin with acceptance"],
    ],
    [
      "a move outside the table",
      changed("delivered", { history: history("queued", "sent", "expired", "sent", "delivered") }),
      ["5 expired became sent"],
    ],
    [
      "a history that runs backwards",
      changed("sent", {
        history: history("queued", "sent").map((step, at) => ({ ...step, atMs: START_MS - at })),
      }),
      ["5 the history runs backwards"],
    ],
    [
      "a status that is not the history's last",
      changed("undelivered", { history: history("queued", "sent", "delivered") }),
      ["5 the history does not end with the status"],
    ],
    [
      "a phase of one that is sent",
      changed("sent", { phase: "waiting" }),
      ["5 the phase does not fit the status"],
    ],
    [
      "no phase of one that is queued",
      changed("waiting", { phase: undefined }),
      ["5 the phase does not fit the status"],
    ],
    [
      "one that is delivered and never was sent",
      changed("delivered", { history: history("queued", "delivered") }),
      [
        "5 queued became delivered",
        "2 charged without being sent, or the reverse",
        "2 the amount does not fit the status",
      ],
    ],
    [
      "an amount of one that was never sent",
      changed("waiting", { amount: 1n }),
      ["2 the amount does not fit the status"],
    ],
    [
      "no amount of one that was",
      changed("sent", { amount: undefined }),
      ["2 the amount does not fit the status"],
    ],
    [
      "an amount beyond its hold",
      changed("sent", { amount: messageIn("sent").heldAmount + 1n }),
      ["2 the amount exceeds the hold"],
    ],
    [
      "a hold under no reservation",
      changed("waiting", { reservationId: undefined }),
      ["3 funds are held under no reservation"],
    ],
  ] as const) {
    it(`names ${what}`, () => expect(whats(message)).to.deep.equal(wanted));
  }
});
