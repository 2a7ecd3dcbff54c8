/** Receipts of carriers that a message has left, and of messages that cannot arrive whole. */
import { expect } from "chai";
import type { Message } from "../../../services/messaging/domain/message.ts";
import { applyOutcome } from "../../../services/messaging/domain/outcome.ts";
import { applyReceipt, type Receipt } from "../../../services/messaging/domain/receipt.ts";
import { ALL_AVAILABLE, messageIn, RECEIPT_MS, receipt, TIMEOUTS } from "../../support/messages.ts";

const apply = (message: Message, said: Receipt) =>
  applyReceipt(message, said, RECEIPT_MS, TIMEOUTS);

describe("a receipt of a connector that the message has left", () => {
  for (const name of ["waiting", "sent"] as const) {
    it(`changes nothing of one that is ${name} elsewhere, unless the handset has it`, () => {
      const message = messageIn(name);
      const own = message.routes[message.routeAt]?.connectorId ?? "";
      const sentOutcomes = (state: Receipt["state"], connectorId: string) =>
        apply(message, receipt(state, { segment: 0, connectorId })).message;
      for (const state of ["undelivered", "acknowledged"] as const) {
        expect(sentOutcomes(state, "another")).to.equal(message);
      }
      expect(sentOutcomes("delivered", "another").status).to.equal("delivered");
      expect(sentOutcomes("undelivered", own).status).to.equal("undelivered");
      expect(sentOutcomes("undelivered", "").status).to.equal("undelivered");
    });
  }

  it("charges that one's route, whether it refused the message or was only overtaken", () => {
    const { routes, ...waiting } = messageIn("waiting");
    const said = receipt("delivered", { segment: 0, connectorId: "alpha" });
    for (const left of [
      { routes, routeAt: 1 },
      { routes: routes.toReversed(), routeAt: 0 },
    ]) {
      const { message } = apply({ ...waiting, ...left }, said);
      expect(message).to.deep.include({ status: "delivered", unitPrice: 40_000n });
    }
  });
});

/** The state of a message of three parts after an outcome: the carrier has, or may have, a part of it. */
function reported(kind: "unknown" | "partly_refused", isIncomplete: boolean): Message {
  const outcome = { claimId: "claim-1", kind, isIncomplete, carrierCode: "", errorCode: "" };
  const said = { ...outcome, retryAtMs: 0, occurredAtMs: RECEIPT_MS };
  const sending = messageIn("sending", { segments: 3 });
  return applyOutcome(sending, said, RECEIPT_MS, TIMEOUTS, ALL_AVAILABLE).message;
}

describe("a message of which a part was refused or never submitted", () => {
  for (const state of ["delivered", "undelivered", "acknowledged"] as const) {
    it(`is sent, then undelivered, when a receipt (${state}) proves another part`, () => {
      const doubtful = reported("unknown", true);
      expect(doubtful).to.include({ status: "queued", phase: "unknown" });
      const { message, events } = apply(doubtful, receipt(state));
      expect(events.map((event) => event.message.status)).to.deep.equal(["sent", "undelivered"]);
      expect(message.error?.code).to.equal("carrier_rejected");
      expect(message.amount).to.equal(120_000n);
    });
  }

  it("is not delivered by a receipt that speaks of the whole", () => {
    const refused = reported("partly_refused", false);
    const { message } = apply(refused, receipt("delivered", { segment: 0 }));
    expect(message).to.include({ status: "undelivered" });
    expect(message.error?.code).to.equal("carrier_rejected");
  });

  it("is whole again when all of it is submitted once more", () => {
    const put = { claimId: "claim-1", carrierCode: "", errorCode: "", retryAtMs: 0 };
    for (const kind of ["not_sent", "refused"] as const) {
      const said = { ...put, kind, occurredAtMs: RECEIPT_MS };
      const again = applyOutcome(
        reported("unknown", true),
        said,
        RECEIPT_MS,
        TIMEOUTS,
        ALL_AVAILABLE,
      );
      expect(again.message).to.include({ status: "queued", phase: "waiting" });
      const { message } = apply(again.message, receipt("delivered", { segment: 0 }));
      expect(message.status).to.equal("delivered");
    }
  });

  for (const kind of ["unknown", "partly_refused"] as const) {
    it(`(${kind}) is delivered when a carrier that it had left says so`, () => {
      const said = receipt("delivered", { segment: 0, connectorId: "beta" });
      expect(apply(reported(kind, true), said).message.status).to.equal("delivered");
    });
  }

  it("differs from one whose parts are all in doubt, which only waits for them", () => {
    const all = [1, 2, 3].map((segment) =>
      receipt("delivered", { segment, partKey: `${segment}` }),
    );
    const message = all.reduce((one, said) => apply(one, said).message, reported("unknown", false));
    expect(message.status).to.equal("delivered");
  });
});
