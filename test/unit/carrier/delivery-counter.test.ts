import { expect } from "chai";
import { createDeliveryCounter } from "../../../services/carrier/app/delivery-counter.ts";
import type { DeliverySlot } from "../../../services/carrier/app/ports.ts";
import type { Submission } from "../../../services/carrier/domain/submission.ts";
import { submissionOf } from "../../support/carrier-messages.ts";

const AT = 1_200_000;

const submission = (fields: Partial<Submission> = {}) =>
  submissionOf({ messageId: "msg_1", atMs: AT + 5000, ...fields });

function open() {
  const stored: DeliverySlot[] = [];
  let isAway = false;
  const counter = createDeliveryCounter({
    async addDeliveries(slots) {
      if (isAway) throw new Error("away");
      stored.push(...slots);
    },
  });
  const setAway = (next: boolean) => {
    isAway = next;
  };
  const sent = (...submissions: Submission[]) => counter.noteOutcome({ submissions, unknowns: [] });
  return { counter, stored, sent, setAway };
}

const slot = (submitted: number, delivered: number, undelivered: number, country = "NG") => ({
  ...{ connectorId: "smsc", country, atMs: AT, submitted, delivered, undelivered },
});

describe("the delivery counter", () => {
  it("counts submits and receipts in the five minutes of the submit", async () => {
    const { counter, stored, sent } = open();
    sent(submission());
    sent(submission({ messageId: "msg_2", to: "233241234567" }));
    counter.noteReceipt(submission(), "delivered", AT + 900_000);
    await counter.flush();
    expect(stored).to.deep.equal([slot(1, 1, 0), slot(1, 0, 0, "GH")]);
  });

  it("counts a receipt once, however often it comes, and corrects its verdict", async () => {
    const { counter, stored } = open();
    for (const verdict of ["acknowledged", "undelivered", "undelivered", "delivered"] as const) {
      counter.noteReceipt(submission(), verdict, AT);
    }
    await counter.flush();
    expect(stored).to.deep.equal([slot(0, 1, 0)]);
  });

  it("counts each part with receipts of its own, and a message with a single receipt once", async () => {
    const { counter, stored, sent } = open();
    sent(submission({ segment: 1, parts: 2 }), submission({ segment: 2, parts: 2 }));
    sent(submission({ messageId: "msg_2" }), submission({ messageId: "msg_2", key: "a2" }));
    await counter.flush();
    expect(stored).to.deep.equal([slot(3, 0, 0)]);
  });

  it("counts a submit that was accepted without an id, and none in doubt", async () => {
    const { counter, stored } = open();
    const { key: _, ...unknown } = submission();
    counter.noteOutcome({ submissions: [], unknowns: [{ ...unknown, isTaken: true }] });
    counter.noteOutcome({ submissions: [], unknowns: [unknown] });
    await counter.flush();
    expect(stored).to.deep.equal([slot(1, 0, 0)]);
  });

  it("keeps the counts while the store is away", async () => {
    const { counter, stored, sent, setAway } = open();
    sent(submission());
    setAway(true);
    expect(await counter.flush().catch(({ message }) => message)).to.equal("away");
    sent(submission({ messageId: "msg_2" }));
    setAway(false);
    await counter.flush();
    await counter.flush();
    expect(stored).to.deep.equal([slot(2, 0, 0)]);
  });
});
