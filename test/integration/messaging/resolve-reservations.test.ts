import { expect } from "chai";
import {
  MessageStatus,
  OutcomeKind,
  SendEndpoint,
} from "../../../proto/gen/sms/v1/messaging_pb.js";
import { createSendStore } from "../../../services/messaging/store/sends.ts";
import { newId } from "../../../services/shared/core/ids.ts";
import { messageIn } from "../../support/messages.ts";
import { claimOne, report, singleSend } from "../../support/messaging-harness.ts";
import { openMessagingSuite } from "../../support/messaging-suite.ts";

/** The verdict on sends that nothing stands against. */
const ADMITTED = async () => [undefined, undefined];

describe("reservations that the wallet asks about", () => {
  const { harness, tenant } = openMessagingSuite();

  const ask = async (
    reservationId: string,
    firstMessageId: string,
    lastMessageId: string,
    omitWaiting = false,
  ) => {
    const query = { tenantId: tenant.id, reservationId, firstMessageId, lastMessageId };
    const request = { reservations: [query], omitWaiting };
    const { answers } = await harness.messaging.resolveReservations(request);
    return answers[0];
  };

  it("answers a stored send with its messages' charges, long after its record has ended", async () => {
    const recipients = ["08031234567", "nonsense", "08037654321"].map((to) => ({ to }));
    const request = singleSend(tenant, { endpoint: SendEndpoint.BULK, recipients });
    const { reservationId, entries } = await harness.messaging.sendMessages(request);
    await report(harness, await claimOne(harness, "alpha"), OutcomeKind.ACCEPTED);
    const [first = "", , last = ""] = entries.map(({ id }) => id);
    const answer = await ask(reservationId, first, last);
    expect(answer?.fenced).to.equal(false);
    expect(answer?.charges.map(({ messageId }) => messageId)).to.deep.equal([first, last]);
    expect(answer?.charges[0]).to.include({
      status: MessageStatus.SENT,
      amount: 40_000n,
      wasSent: true,
      heldAmount: 40_000n,
    });
    const moved = await ask(reservationId, first, last, true);
    expect(moved?.fenced).to.equal(false);
    expect(moved?.charges.map(({ messageId }) => messageId)).to.deep.equal([first]);
    await harness.db.collection("sends").deleteOne({ _id: reservationId as never });
    expect((await ask(reservationId, first, last))?.charges).to.have.length(2);
  });

  it("writes a tombstone for a reservation without a send, and a late commit then fails", async () => {
    const reservationId = newId("reservation");
    const message = messageIn("waiting", { reservationId, tenantId: tenant.id });
    expect((await ask(reservationId, message.id, message.id))?.fenced).to.equal(true);
    expect((await ask(reservationId, message.id, message.id))?.fenced).to.equal(true);
    const sends = createSendStore(harness.mongo, harness.db);
    const [outcome] = await sends.commit([lateSend(reservationId, message)], ADMITTED, Date.now());
    expect(outcome).to.equal("duplicate");
    expect(await harness.db.collection("messages").findOne({ _id: message.id as never })).to.equal(
      null,
    );
  });

  it("lets one of a concurrent commit and tombstone win, and commits the rest of the batch", async () => {
    const sends = createSendStore(harness.mongo, harness.db);
    for (let round = 0; round < 100; round += 1) {
      const [contested, sibling] = [0, 1].map(() => {
        const reservationId = newId("reservation");
        return lateSend(reservationId, messageIn("waiting", { reservationId }));
      });
      if (contested === undefined || sibling === undefined) throw new Error("two were made");
      const [outcomes, stands] = await Promise.all([
        sends.commit([contested, sibling], ADMITTED, Date.now()),
        sends.putTombstone(contested.record.id, Date.now()),
      ]);
      expect(outcomes[0] === undefined ? "sent" : "tombstone").to.equal(stands);
      expect(outcomes[1]).to.equal(undefined);
    }
  });
});

function lateSend(id: string, message: ReturnType<typeof messageIn>) {
  return {
    record: {
      id,
      tenantId: message.tenantId,
      firstMessageId: message.id,
      lastMessageId: message.id,
      key: undefined,
      fingerprint: new Uint8Array(),
      response: new Uint8Array(),
      keepMs: 1000,
      replaces: undefined,
    },
    messages: [message],
  };
}
