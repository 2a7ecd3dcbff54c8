import { fromBinary } from "@bufbuild/protobuf";
import { expect } from "chai";
import { EventSchema } from "../../../proto/gen/sms/v1/events_pb.js";
import { toStreamItem } from "../../../services/messaging/adapters/events.ts";
import type { StatusEvent } from "../../../services/messaging/domain/message.ts";
import { toSenderIdEvent } from "../../../services/sender-id/adapters/events.ts";
import { createSenderId } from "../../../services/sender-id/domain/sender-id.ts";
import { newId } from "../../../services/shared/core/ids.ts";
import { MESSAGE_STATUSES } from "../../../services/shared/core/message-status.ts";
import { SUBJECTS } from "../../../services/webhook/adapters/events.ts";
import { toDomainEvent } from "../../../services/webhook/adapters/proto-events.ts";
import type { DomainEvent, MessageView } from "../../../services/webhook/domain/domain-event.ts";
import { webhookEventsOf } from "../../../services/webhook/domain/event-fan-out.ts";
import { messageIn } from "../../support/messages.ts";

const AT = Date.UTC(2026, 3, 15, 10, 20, 30, 45);
const EVENT_ID = "evt_01JABCDEFGHJKMNPQRSTVWXYZ0";

const MESSAGE: MessageView = {
  id: "msg_01JABCDEFGHJKMNPQRSTVWXYZ1",
  mode: "live",
  status: "delivered",
  to: "+2348031234567",
  from: "Acme",
  body: 'Say "hi" \u2028 ₦5 😀\n',
  encoding: "ucs2",
  segments: 1,
  heldAmount: 45_000n,
  unitPrice: 40_000n,
  amount: 40_000n,
  currency: "NGN",
  clientReference: "",
  campaignId: "",
  source: "api",
  error: undefined,
  scheduledAtMs: 0,
  createdAtMs: AT - 5000,
  sentAtMs: AT - 2000,
  completedAtMs: AT,
  updatedAtMs: AT,
  hasHold: true,
};

function changeOf(message: Partial<MessageView>): DomainEvent {
  return {
    id: EVENT_ID,
    tenantId: "ten_1",
    occurredAtMs: AT,
    recordedAtMs: AT,
    kind: "message",
    message: { ...MESSAGE, ...message },
    previousStatus: "sent",
  };
}

function bodyOf(message: Partial<MessageView>, type: string): string {
  const event = webhookEventsOf(changeOf(message)).find((candidate) => candidate.type === type);
  if (event === undefined) throw new Error(`no ${type}`);
  return event.body();
}

describe("webhook bodies", () => {
  it("message.status_changed is byte for byte as the contract says", () => {
    expect(bodyOf({}, "message.status_changed")).to.equal(
      '{"api_version":"v1","created_at":"2026-04-15T10:20:30.045Z","data":{"object":{' +
        '"amount":"4.0000","body":"Say \\"hi\\" \u2028 ₦5 😀\\n","charge_state":"captured",' +
        '"created_at":"2026-04-15T10:20:25.045Z","error_code":null,"from":"Acme",' +
        '"id":"msg_01JABCDEFGHJKMNPQRSTVWXYZ1","object":"message",' +
        '"sent_at":"2026-04-15T10:20:28.045Z","status":"delivered","to":"+2348031234567",' +
        '"unit_price":"4.0000","updated_at":"2026-04-15T10:20:30.045Z"},' +
        '"previous_status":"sent"},"id":"evt_01JABCDEFGHJKMNPQRSTVWXYZ0",' +
        '"tenant_id":"ten_1","type":"message.status_changed"}',
    );
  });

  it("a message never sent has amount 0.0000, no price and no sending time", () => {
    const { object } = JSON.parse(
      bodyOf(
        {
          status: "cancelled",
          unitPrice: undefined,
          amount: undefined,
          sentAtMs: 0,
          error: { code: "cancelled", message: "Cancelled." },
        },
        "message.status_changed",
      ),
    ).data;
    expect(object).to.include({ amount: "0.0000", charge_state: "released" });
    expect(object).to.include({ unit_price: null, sent_at: null, error_code: "cancelled" });
  });

  it("charge_state follows the status, and is none without a hold", () => {
    const states = Object.fromEntries(
      ["sent", "delivered", "undelivered", "expired", "rejected", "failed", "cancelled"].map(
        (status) => [
          status,
          JSON.parse(bodyOf({ status: status as MessageView["status"] }, "message.status_changed"))
            .data.object.charge_state,
        ],
      ),
    );
    expect(states).to.deep.equal({
      sent: "captured",
      delivered: "captured",
      undelivered: "captured",
      expired: "captured",
      rejected: "released",
      failed: "released",
      cancelled: "released",
    });
    const free = JSON.parse(bodyOf({ hasHold: false }, "message.status_changed"));
    expect(free.data.object.charge_state).to.equal("none");
  });

  it("message.<status> carries every field of the Message resource", () => {
    const { object } = JSON.parse(bodyOf({}, "message.delivered")).data;
    expect(Object.keys(object)).to.deep.equal([
      ..."amount body campaign_id channel client_reference completed_at created_at currency".split(
        " ",
      ),
      ..."direction encoding error from held_amount id mode object scheduled_at segments".split(
        " ",
      ),
      ..."sent_at source status to unit_price updated_at".split(" "),
    ]);
    expect(object).to.include({ channel: "sms", direction: "outbound", client_reference: null });
  });

  it("message.<status> of a message never sent has the amount 0.0000, like message.status_changed", () => {
    for (const [status, amount] of [
      ["cancelled", "0.0000"],
      ["failed", "0.0000"],
      ["rejected", "0.0000"],
    ] as const) {
      const { object } = JSON.parse(
        bodyOf({ status, amount: undefined }, `message.${status}`),
      ).data;
      expect(object.amount, status).to.equal(amount);
    }
  });

  it("each status but scheduled and queued makes both events, under different ids", () => {
    for (const status of MESSAGE_STATUSES) {
      const events = webhookEventsOf(changeOf({ status }));
      if (status === "scheduled" || status === "queued") {
        expect(events, status).to.deep.equal([]);
        continue;
      }
      expect(events.map(({ type }) => type)).to.deep.equal([
        "message.status_changed",
        `message.${status}`,
      ]);
      const [first, second] = events.map((event) => JSON.parse(event.body()).id);
      expect(first).to.equal(EVENT_ID);
      expect(second)
        .to.match(/^evt_01JABCDEFG/)
        .and.not.equal(EVENT_ID);
    }
  });

  it("changes of wallets and sender IDs carry their objects", () => {
    const wallet = {
      currency: "NGN",
      balance: 1_000_000n,
      held: 250_000n,
      available: 750_000n,
      lowBalanceThreshold: 500_000n,
      asOfMs: AT,
    };
    const head = { id: newId("event"), tenantId: "ten_1", occurredAtMs: AT, recordedAtMs: AT };
    const funded = webhookEventsOf({
      ...head,
      kind: "wallet",
      type: "funded",
      wallet,
      amount: 123_456n,
      reference: "inv-1",
    });
    expect(funded.map(({ type }) => type)).to.deep.equal(["wallet.funded"]);
    expect(JSON.parse(funded[0]?.body() ?? "").data).to.deep.equal({
      amount: "12.3456",
      object: {
        as_of: "2026-04-15T10:20:30.045Z",
        available: "75.0000",
        balance: "100.0000",
        currency: "NGN",
        held: "25.0000",
        low_balance_threshold: "50.0000",
        object: "balance",
      },
      reference: "inv-1",
    });
    const senderId = {
      id: "sid_1",
      name: "Acme",
      status: "approved",
      rejectionReason: "",
      isUsable: true,
      createdAtMs: AT,
      updatedAtMs: AT,
    } as const;
    const [approved] = webhookEventsOf({ ...head, kind: "sender_id", type: "approved", senderId });
    expect(approved?.type).to.equal("sender_id.approved");
    expect(JSON.parse(approved?.body() ?? "").data.object).to.include({
      object: "sender_id",
      usable: true,
      rejection_reason: null,
    });
  });

  it("an approved sender ID of a suspended tenant is not usable, as in the list", () => {
    const senderId = createSenderId({
      ...{ id: newId("senderId"), tenantId: newId("tenant"), name: "Acme" },
      ...{ isApproved: true, nowMs: AT },
    });
    for (const isTenantActive of [true, false]) {
      const { data } = toSenderIdEvent({ senderId, action: "approve", isTenantActive });
      const [approved] = webhookEventsOf(toDomainEvent(fromBinary(EventSchema, data)));
      expect(JSON.parse(approved?.body() ?? "").data.object.usable).to.equal(isTenantActive);
    }
  });

  it("only events of a tenant with redact_bodies are marked for redaction", () => {
    const says = (change: DomainEvent) => webhookEventsOf(change).map(({ redacts }) => redacts);
    expect(says({ ...changeOf({}), redacts: true } as DomainEvent)).to.deep.equal([true, true]);
    expect(says(changeOf({}))).to.deep.equal([false, false]);
    for (const redact of [true, false]) {
      const message = messageIn("delivered", { redact });
      const { data } = toStreamItem({ message, previous: "sent" } as StatusEvent, undefined);
      expect(toDomainEvent(fromBinary(EventSchema, data))).to.include({ redacts: redact });
    }
  });

  it("a type that no endpoint can subscribe to makes no event", () => {
    const senderId = {
      id: "sid_1",
      name: "Acme",
      status: "pending",
      rejectionReason: "",
      isUsable: false,
      createdAtMs: AT,
      updatedAtMs: AT,
    } as const;
    const head = { id: newId("event"), tenantId: "ten_1", occurredAtMs: AT, recordedAtMs: AT };
    expect(
      webhookEventsOf({ ...head, kind: "sender_id", type: "renamed", senderId }),
    ).to.deep.equal([]);
  });

  it("every event of the stream is handled", () => expect(SUBJECTS).to.deep.equal(["events.>"]));
});
