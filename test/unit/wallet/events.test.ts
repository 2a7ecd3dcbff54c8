import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { expect } from "chai";
import { Mode } from "../../../proto/gen/sms/v1/common_pb.js";
import { EventSchema } from "../../../proto/gen/sms/v1/events_pb.js";
import { MessageStatus } from "../../../proto/gen/sms/v1/messaging_pb.js";
import { AppError } from "../../../services/shared/core/errors.ts";
import {
  createSettleHandler,
  requiredSettlement,
  toStreamItem,
} from "../../../services/wallet/adapters/events.ts";
import type {
  SettlementRequest,
  SettlementResult,
} from "../../../services/wallet/app/settle-messages.ts";
import { newWallet } from "../../../services/wallet/domain/wallet.ts";
import { silentLog } from "../../support/wallet-harness.ts";

const message = {
  messageId: "msg_1",
  tenantId: "ten_a",
  reservationId: "rsv_1",
  heldAmount: 40n,
  mode: Mode.LIVE,
};

/** The settlement that each status requires, for a message held at 40 and priced at 25. */
const REQUIRED: Record<keyof typeof MessageStatus, string> = {
  UNSPECIFIED: "none",
  SCHEDULED: "none",
  QUEUED: "none",
  SENT: "capture 25",
  DELIVERED: "capture 25",
  UNDELIVERED: "capture 25",
  EXPIRED: "capture 25",
  REJECTED: "none",
  FAILED: "capture 0",
  CANCELLED: "capture 0",
};

describe("the settlement that a message status requires", () => {
  for (const [name, expected] of Object.entries(REQUIRED)) {
    it(`${name}: ${expected}`, () => {
      const status = MessageStatus[name as keyof typeof MessageStatus];
      const required = requiredSettlement({ ...message, status, amount: 25n });
      const shown =
        required.kind === "settle" ? `capture ${required.request.capturedAmount}` : required.kind;
      expect(shown).to.equal(expected);
    });
  }

  it("is none for a message without a hold and for a test message", () => {
    const sent = { ...message, status: MessageStatus.SENT, amount: 25n };
    expect(requiredSettlement({ ...sent, reservationId: "" }).kind).to.equal("none");
    expect(requiredSettlement({ ...sent, mode: Mode.TEST }).kind).to.equal("none");
  });

  it("is invalid for a sent message without an amount", () => {
    expect(requiredSettlement({ ...message, status: MessageStatus.SENT }).kind).to.equal("invalid");
  });
});

describe("the settlement of events", () => {
  const eventOf = (id: string, status: MessageStatus) =>
    toBinary(
      EventSchema,
      create(EventSchema, {
        id: `evt_${id}`,
        payload: {
          case: "messageChanged",
          value: {
            message: {
              id,
              tenantId: "ten_a",
              reservationId: "rsv_1",
              heldAmount: 40n,
              amount: 25n,
              mode: Mode.LIVE,
              status,
            },
          },
        },
      }),
    );
  const delivered = (data: Uint8Array) => ({ subject: "events.message.x", data, deliveries: 1 });

  it("decides on each item of a batch separately", async () => {
    const results: Record<string, SettlementResult> = {
      msg_new: { kind: "settled" },
      msg_old: { kind: "already", differs: false },
      msg_later: { kind: "unavailable", error: new Error("away") },
      msg_never: { kind: "impossible", error: new AppError("not_found", "No such reservation.") },
    };
    const received: SettlementRequest[] = [];
    const handle = createSettleHandler({
      log: silentLog,
      async settleMessages(requests) {
        received.push(...requests);
        return requests.map(({ messageId }) => results[messageId] ?? { kind: "settled" });
      },
    });
    const answers = await handle([
      delivered(eventOf("msg_new", MessageStatus.SENT)),
      delivered(eventOf("msg_quiet", MessageStatus.QUEUED)),
      delivered(Uint8Array.of(255, 255, 255)),
      delivered(eventOf("msg_later", MessageStatus.FAILED)),
      delivered(eventOf("msg_never", MessageStatus.SENT)),
      delivered(eventOf("msg_old", MessageStatus.DELIVERED)),
    ]);
    expect(answers).to.deep.equal([
      { kind: "ack" },
      { kind: "ack" },
      { kind: "dead", reason: "not an event" },
      { kind: "retry", afterMs: 1000 },
      { kind: "dead", reason: "not_found: No such reservation." },
      { kind: "ack" },
    ]);
    expect(
      received.map(({ messageId, capturedAmount }) => [messageId, capturedAmount]),
    ).to.deep.equal([
      ["msg_new", 25n],
      ["msg_later", 0n],
      ["msg_never", 25n],
      ["msg_old", 25n],
    ]);
  });
});

describe("an item that the database refuses", () => {
  for (const [error, deliveries, kind] of [
    [new Error("refused"), 599, "retry"],
    [new Error("refused"), 600, "dead"],
    [new AppError("service_unavailable", "Away."), 600, "retry"],
  ] as const) {
    it(`${error.message} at delivery ${deliveries}: ${kind}`, async () => {
      const handle = createSettleHandler({
        log: silentLog,
        settleMessages: async () => [{ kind: "unavailable", error }],
      });
      const message = { id: "msg_1", tenantId: "ten_a", reservationId: "rsv_1" };
      const status = MessageStatus.CANCELLED;
      const payload = {
        case: "messageChanged" as const,
        value: { message: { ...message, status } },
      };
      const data = toBinary(EventSchema, create(EventSchema, { id: "evt_1", payload }));
      const [answer] = await handle([{ subject: "events.message.x", data, deliveries }]);
      expect(answer?.kind).to.equal(kind);
    });
  }
});

describe("the wallet's own events", () => {
  it("have the tenant's subject, the event's id and the wallet", () => {
    const wallet = { ...newWallet("ten_a", "NGN", 5n, 0), balance: 100n, held: 30n };
    const item = toStreamItem({
      id: "evt_1",
      type: "funded",
      wallet,
      amount: 50n,
      reference: "r",
      occurredAtMs: 1000,
    });
    expect(item).to.include({ id: "evt_1", subject: "events.wallet.ten_a.funded" });
    const event = fromBinary(EventSchema, item.data);
    expect(event).to.include({ id: "evt_1", tenantId: "ten_a", occurredAtMs: 1000n });
    expect(event.payload.case).to.equal("walletChanged");
    if (event.payload.case !== "walletChanged") return;
    expect(event.payload.value).to.include({ type: "funded", amount: 50n, reference: "r" });
    expect(event.payload.value.wallet).to.include({ balance: 100n, held: 30n, available: 70n });
  });
});
