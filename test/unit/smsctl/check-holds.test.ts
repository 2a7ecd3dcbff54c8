import { create } from "@bufbuild/protobuf";
import { expect } from "chai";
import { ChargeSchema, MessageStatus } from "../../../proto/gen/sms/v1/messaging_pb.js";
import { ReservationState } from "../../../proto/gen/sms/v1/wallet_pb.js";
import { newId } from "../../../services/shared/core/ids.ts";
import { checkCharges } from "../../../services/smsctl/check/charges.ts";
import { idAt } from "../../support/ids-at.ts";
import { checkOf, refuse } from "../../support/smsctl-fakes.ts";

describe("smsctl check: holds and open messages", () => {
  const CHARGE = create(ChargeSchema, {
    tenantId: "ten_1",
    reservationId: "rsv_0",
    status: MessageStatus.QUEUED,
    heldAmount: 1n,
  });
  const nothing = { async *streamSettlements() {} };

  describe("rechecks an open message without an open hold", () => {
    const DAY_MS = 86_400_000;
    const reservationId = idAt("reservation", Date.now() - DAY_MS);
    const charge = {
      ...CHARGE,
      messageId: "msg_000000",
      reservationId,
      status: MessageStatus.SCHEDULED,
    };

    async function checkWith(
      reservation: { state: ReservationState } | undefined,
      status = MessageStatus.SCHEDULED,
      ids: { reservationId: string } = { reservationId },
    ) {
      const report = await checkCharges(
        checkOf({
          messaging: {
            async *streamCharges() {
              yield { charges: [{ ...charge, ...ids }] };
            },
            getMessage: () => ({ message: { status } }),
          },
          wallets: {
            ...nothing,
            async *streamReservations() {},
            getReservation: () =>
              reservation === undefined ? refuse("not_found", "None.") : { reservation },
          },
        }),
      );
      return report.breaches.map(({ invariant, what }) => `${invariant} ${what}`);
    }

    it("a missing hold is a breach", async () => {
      expect(await checkWith(undefined)).to.deep.equal([
        "3 an open message whose hold does not exist",
      ]);
    });

    it("a closed hold is a breach", async () => {
      expect(await checkWith({ state: ReservationState.CLOSED })).to.deep.equal([
        "3 an open message whose hold is closed",
      ]);
    });

    it("an open hold, or a message sent since, is no breach", async () => {
      expect(await checkWith({ state: ReservationState.OPEN })).to.deep.equal([]);
      expect(await checkWith(undefined, MessageStatus.SENT)).to.deep.equal([]);
    });

    it("however young it is", async () => {
      const young = { reservationId: newId("reservation") };
      expect(await checkWith(undefined, MessageStatus.SCHEDULED, young)).to.have.length(1);
      expect(await checkWith(undefined, MessageStatus.SENT, young)).to.deep.equal([]);
    });
  });

  describe("rechecks a hold that is smaller than its open messages", () => {
    const id = (at: number) => `msg_${String(at).padStart(26, "0")}`;
    const charge = (at: number) => ({
      ...CHARGE,
      messageId: id(at),
      status: MessageStatus.QUEUED,
    });
    const message = (at: number, status = MessageStatus.QUEUED, reservationId = "rsv_0") => ({
      ...{ id: id(at), status, reservationId, heldAmount: 1n },
    });
    const { QUEUED, SENT, REJECTED } = MessageStatus;

    /** The breaches of a hold of three, of which so much is open, and of messages as they are by then. */
    async function checkWith(openAmount: bigint, now: ReturnType<typeof message>[]) {
      const asked: string[] = [];
      const report = await checkCharges(
        checkOf({
          messaging: {
            async *streamCharges() {
              yield { charges: [charge(7), charge(8), charge(9)] };
            },
            getMessage({ messageId }) {
              asked.push(messageId);
              return { message: now.find((one) => one.id === messageId) };
            },
            listMessages({ beforeId }) {
              asked.push(`< ${beforeId}`);
              const below = now.filter((one) => one.id < beforeId);
              return { messages: below.slice(0, 2), hasMore: below.length > 2 };
            },
          },
          wallets: {
            ...nothing,
            async *streamReservations() {
              yield { reservations: [{ id: "rsv_0", tenantId: "ten_1", openAmount: 2n }] };
            },
            getReservation: () => ({ reservation: { openAmount } }),
          },
        }),
      );
      return { asked, whats: report.breaches.map(({ what }) => what) };
    }

    it("is no breach when its messages were settled since", async () => {
      const now = [message(9, SENT), message(8), message(7), message(6, QUEUED, "rsv_1")];
      expect((await checkWith(2n, now)).whats).to.deep.equal([]);
    });

    it("an open hold smaller than its open messages is a breach, with any page size", async () => {
      const now = [
        message(9),
        message(8, REJECTED, ""),
        message(7),
        message(5),
        message(4, QUEUED, "rsv_1"),
      ];
      const { whats, asked } = await checkWith(2n, now);
      expect(whats).to.deep.equal(["a hold of 0.0002 where open messages need 0.0003"]);
      expect(asked).to.deep.equal([id(9), `< ${id(9)}`, `< ${id(7)}`]);
      expect((await checkWith(3n, now)).whats).to.deep.equal([]);
    });
  });
});
