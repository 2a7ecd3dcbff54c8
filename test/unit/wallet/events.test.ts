import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { expect } from "chai";
import { Mode } from "../../../proto/gen/sms/v1/common_pb.js";
import { EventSchema } from "../../../proto/gen/sms/v1/events_pb.js";
import { MessageStatus } from "../../../proto/gen/sms/v1/messaging_pb.js";
import { AppError } from "../../../services/shared/core/errors.ts";
import {
  askedBy,
  createSettleHandler,
  toStreamItem,
} from "../../../services/wallet/adapters/events.ts";
import type { SettleRequest, SettleResult } from "../../../services/wallet/app/settle-messages.ts";
import { newWallet } from "../../../services/wallet/domain/wallet.ts";
import { silentLog } from "../../support/wallet-harness.ts";

const message = {
  messageId: "msg_1",
  tenantId: "ten_a",
  reservationId: "rsv_1",
  heldAmount: 40n,
  mode: Mode.LIVE,
};

/** What each status asks of the wallet, for a message held at 40 and priced at 25. */
const ASKED: Record<keyof typeof MessageStatus, string> = {
  UNSPECIFIED: "nothing",
  SCHEDULED: "nothing",
  QUEUED: "nothing",
  SENT: "capture 25",
  DELIVERED: "capture 25",
  UNDELIVERED: "capture 25",
  EXPIRED: "capture 25",
  REJECTED: "nothing",
  FAILED: "capture 0",
  CANCELLED: "capture 0",
};

describe("what a message asks of the wallet", () => {
  for (const [name, expected] of Object.entries(ASKED)) {
    it(`${name}: ${expected}`, () => {
      const status = MessageStatus[name as keyof typeof MessageStatus];
      const asked = askedBy({ ...message, status, amount: 25n });
      const shown =
        asked.kind === "settle" ? `capture ${asked.request.capturedAmount}` : asked.kind;
      expect(shown).to.equal(expected);
    });
  }

  it("nothing, for a message without a hold and for a test message", () => {
    const sent = { ...message, status: MessageStatus.SENT, amount: 25n };
    expect(askedBy({ ...sent, reservationId: "" }).kind).to.equal("nothing");
    expect(askedBy({ ...sent, mode: Mode.TEST }).kind).to.equal("nothing");
  });

  it("makes no sense when it was sent without an amount", () => {
    expect(askedBy({ ...message, status: MessageStatus.SENT }).kind).to.equal("nonsense");
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

  it("gives each item its own verdict", async () => {
    const results: Record<string, SettleResult> = {
      msg_new: { kind: "settled" },
      msg_old: { kind: "already", differs: false },
      msg_later: { kind: "unavailable", error: new Error("away") },
      msg_never: { kind: "impossible", error: new AppError("not_found", "No such reservation.") },
    };
    const asked: SettleRequest[] = [];
    const handle = createSettleHandler({
      log: silentLog,
      async settleMessages(requests) {
        asked.push(...requests);
        return requests.map(({ messageId }) => results[messageId] ?? { kind: "settled" });
      },
    });
    const verdicts = await handle([
      delivered(eventOf("msg_new", MessageStatus.SENT)),
      delivered(eventOf("msg_quiet", MessageStatus.QUEUED)),
      delivered(Uint8Array.of(255, 255, 255)),
      delivered(eventOf("msg_later", MessageStatus.FAILED)),
      delivered(eventOf("msg_never", MessageStatus.SENT)),
      delivered(eventOf("msg_old", MessageStatus.DELIVERED)),
    ]);
    expect(verdicts).to.deep.equal([
      { kind: "ack" },
      { kind: "ack" },
      { kind: "dead", reason: "not an event" },
      { kind: "retry", afterMs: 1000 },
      { kind: "dead", reason: "not_found: No such reservation." },
      { kind: "ack" },
    ]);
    expect(asked.map(({ messageId, capturedAmount }) => [messageId, capturedAmount])).to.deep.equal(
      [
        ["msg_new", 25n],
        ["msg_later", 0n],
        ["msg_never", 25n],
        ["msg_old", 25n],
      ],
    );
  });
});

describe("what the database refuses to settle", () => {
  for (const [error, deliveries, kind] of [
    [new Error("refused"), 599, "retry"],
    [new Error("refused"), 600, "dead"],
    [new AppError("service_unavailable", "Away."), 600, "retry"],
  ] as const) {
    it(`after ${deliveries} deliveries, ${error.message} means ${kind}`, async () => {
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
      const [verdict] = await handle([{ subject: "events.message.x", data, deliveries }]);
      expect(verdict?.kind).to.equal(kind);
    });
  }
});

describe("the wallet's own events", () => {
  it("go to their tenant's subject under the event's id, with the wallet inside", () => {
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
