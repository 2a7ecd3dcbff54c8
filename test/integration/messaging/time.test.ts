import { fromBinary } from "@bufbuild/protobuf";
import { expect } from "chai";
import { Binary } from "mongodb";
import { connect, type NatsConnection, type Subscription } from "nats";
import { EventSchema } from "../../../proto/gen/sms/v1/events_pb.js";
import {
  MessageStatus,
  OutcomeKind,
  ReceiptState,
  SendEndpoint,
} from "../../../proto/gen/sms/v1/messaging_pb.js";
import { SenderIdReview } from "../../../proto/gen/sms/v1/sender_id_pb.js";
import {
  claim,
  claimOne,
  makeTenant,
  report,
  show,
  singleSend,
  type TestTenant,
} from "../../support/messaging-harness.ts";
import { openMessagingSuite } from "../../support/messaging-suite.ts";
import { eventually } from "../../support/poll.ts";

const HOUR_MS = 3_600_000;

describe("messages whose time has passed", () => {
  let nats: NatsConnection;
  let events: Subscription;
  const seen: { id: string; subject: string; messageId: string }[] = [];
  const stored = new Set<string>();

  const { harness, tenant } = openMessagingSuite({
    replicas: 2,
    settings: { SCHEDULER_INTERVAL_MS: "50" },
  });
  before(async () => {
    nats = await connect({ servers: harness.natsUrl });
    events = nats.subscribe(`events.message.${tenant.id}.>`, {
      callback: (_, item) => {
        // Both replicas may publish an event that was left; the stream stores it once for its id.
        const streamId = item.headers?.get("Nats-Msg-Id") ?? "";
        if (stored.has(streamId)) return;
        stored.add(streamId);
        const { id, payload } = fromBinary(EventSchema, item.data);
        const messageId = payload.case === "messageChanged" ? payload.value.message?.id : "";
        seen.push({ id, subject: item.subject, messageId: messageId ?? "" });
      },
    });
  });
  after(async () => {
    events?.unsubscribe();
    await nats?.close();
  });

  it("events left under a clock that has been set back since are published all the same", async () => {
    const subject = `events.message.${tenant.id}.left`;
    const outbox = harness.db.collection("outbox");
    const { insertedId } = await outbox.insertOne({
      created_at: new Date(Date.now() + HOUR_MS),
      items: [{ id: "evt_left", subject, data: new Binary(Buffer.alloc(0)) }],
    });
    await eventually(async () => (await outbox.countDocuments({ _id: insertedId })) === 0);
    expect(seen.filter((item) => item.subject === subject)).to.have.length(1);
  });

  async function schedule(about: TestTenant, aheadMs = 120_000): Promise<string> {
    const sendAtMs = BigInt(harness.clock.now() + aheadMs);
    const request = singleSend(about, { sendAtMs });
    const { message } = await harness.messaging.sendMessages(request);
    expect(message?.status).to.equal(MessageStatus.SCHEDULED);
    return message?.id ?? "";
  }
  const reaches = (id: string, status: MessageStatus, of = tenant) =>
    eventually(async () => {
      const message = await show(harness, of, id);
      return message.status === status && message;
    });
  const eventsOf = (id: string) =>
    seen
      .filter(({ messageId }) => messageId === id)
      .map(({ subject }) => subject.split(".").at(-1));

  it("a scheduled message cannot be claimed before its time, and is queued when it comes", async () => {
    const id = await schedule(tenant);
    expect(await claim(harness, "alpha")).to.deep.equal([]);
    harness.clock.advance(120_000);
    await reaches(id, MessageStatus.QUEUED);
    const claimed = await claimOne(harness, "alpha");
    expect(claimed.messageId).to.equal(id);
    await report(harness, claimed, OutcomeKind.ACCEPTED);
    expect(await eventually(() => eventsOf(id).length > 0 && eventsOf(id))).to.deep.equal(["sent"]);
  });

  it("a scheduled message can be cancelled, and is then never queued", async () => {
    const id = await schedule(tenant);
    await harness.messaging.cancelMessage({ tenantId: tenant.id, messageId: id });
    harness.clock.advance(120_000);
    const later = await schedule(tenant, 60_000);
    harness.clock.advance(60_000);
    await reaches(later, MessageStatus.QUEUED);
    const message = await show(harness, tenant, id);
    expect(message.history.map(({ status }) => status)).to.deep.equal([
      MessageStatus.SCHEDULED,
      MessageStatus.CANCELLED,
    ]);
    await claim(harness, "alpha");
  });

  it("its tenant and its sender ID are checked again when it is due", async () => {
    const suspended = await makeTenant(harness);
    const withdrawn = await makeTenant(harness);
    const ids = [await schedule(suspended), await schedule(withdrawn)];
    await harness.tenants.updateTenant({ tenantId: suspended.id, suspended: true });
    await harness.senders.reviewSenderId({
      tenantId: withdrawn.id,
      idOrName: "Acme",
      review: SenderIdReview.SUSPEND,
      reason: "test",
    });
    harness.clock.advance(120_000);
    const first = await reaches(ids[0] ?? "", MessageStatus.FAILED, suspended);
    expect(first.error?.code).to.equal("tenant_suspended");
    const second = await reaches(ids[1] ?? "", MessageStatus.FAILED, withdrawn);
    expect(second.error?.code).to.equal("sender_id_not_approved");
  });

  it("a message that waits longer than the queue time fails with queue_expired, once", async () => {
    const ids: string[] = [];
    // The scan that finds the second has read the first again.
    for (let round = 0; round < 2; round += 1) {
      const { message } = await harness.messaging.sendMessages(singleSend(tenant));
      const id = message?.id ?? "";
      ids.push(id);
      harness.clock.advance(4 * HOUR_MS + 1);
      const failed = await reaches(id, MessageStatus.FAILED);
      expect(failed.error?.code).to.equal("queue_expired");
      await eventually(() => eventsOf(id).length > 0);
    }
    for (const id of ids) expect(eventsOf(id)).to.deep.equal(["failed"]);
    expect(await claim(harness, "alpha")).to.deep.equal([]);
  });

  for (const [state, status] of [
    [ReceiptState.DELIVERED, MessageStatus.DELIVERED],
    [ReceiptState.UNDELIVERED, MessageStatus.UNDELIVERED],
  ] as const) {
    it(`72 hours without a receipt make expired, and a late one may still make ${MessageStatus[status]}`, async () => {
      const { message } = await harness.messaging.sendMessages(singleSend(tenant));
      const id = message?.id ?? "";
      await report(harness, await claimOne(harness, "alpha"), OutcomeKind.ACCEPTED);
      harness.clock.advance(72 * HOUR_MS + 1);
      expect((await reaches(id, MessageStatus.EXPIRED)).error?.code).to.equal("no_receipt");
      await harness.messaging.recordReceipts({ receipts: [{ messageId: id, segment: 1, state }] });
      const after = await show(harness, tenant, id);
      expect(after.status).to.equal(status);
      expect(after.amount).to.equal(40_000n);
    });
  }

  it("many due at once are all queued, each exactly once, by two replicas", async () => {
    const recipients = Array.from({ length: 700 }, (_, at) => ({ to: `+234803${4_000_000 + at}` }));
    const sendAtMs = BigInt(harness.clock.now() + 60_000);
    const sent = await harness.messaging.sendMessages(
      singleSend(tenant, { endpoint: SendEndpoint.BULK, recipients, sendAtMs }),
    );
    harness.clock.advance(60_000);
    const ids = new Set<string>();
    await eventually(async () => {
      for (const { messageId } of await claim(harness, "alpha", 1000)) ids.add(messageId);
      return ids.size === sent.accepted;
    });
    const history = { $ne: [{ $size: "$history" }, 2] };
    const wrong = { _id: { $in: [...ids] as never[] }, $expr: history };
    expect(await harness.db.collection("messages").countDocuments(wrong)).to.equal(0);
  });

  it("publishes every event under an id of its own", () => {
    expect(new Set(seen.map(({ id }) => id)).size).to.equal(seen.length);
    expect(seen.length).to.be.greaterThan(5);
  });
});
