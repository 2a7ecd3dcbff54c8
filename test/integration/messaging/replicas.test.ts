import { expect } from "chai";
import { MessageStatus, OutcomeKind } from "../../../proto/gen/sms/v1/messaging_pb.js";
import {
  breachesOf,
  claimOne,
  type MessagingHarness,
  report,
  show,
  singleSend,
} from "../../support/messaging-harness.ts";
import { openMessagingSuite } from "../../support/messaging-suite.ts";

const { QUEUED, SENT, DELIVERED, CANCELLED } = MessageStatus;

type Replica = MessagingHarness["messaging"];

describe("two replicas of messaging that change the same message", () => {
  let one: Replica;
  let other: Replica;

  const { harness, tenant } = openMessagingSuite({ replicas: 2 });
  before(() => {
    [one = harness.messaging, other = harness.messaging] = harness.replicas;
  });

  const send = async (replica: Replica) =>
    (await replica.sendMessages(singleSend(tenant))).message?.id ?? "";
  const claimAt = async (replica: Replica, carrierId = "carrier-1") =>
    (await replica.claimMessages({ connectorId: "alpha", carrierId, max: 100 })).messages;
  const at = (messaging: Replica): MessagingHarness => ({ ...harness, messaging });
  const deliver = (replica: Replica, messageId: string) =>
    replica.recordReceipts({ receipts: [{ messageId, state: 1, segment: 1 }] });
  const statuses = async (messageId: string) =>
    (await show(harness, tenant, messageId)).history.map(({ status }) => status);

  it("apply a receipt after the outcome that the other replica has stored", async () => {
    const messageId = await send(one);
    const claimed = await claimOne(at(one), "alpha");
    await report(at(other), claimed, OutcomeKind.ACCEPTED);
    await deliver(one, messageId);
    expect(await statuses(messageId)).to.deep.equal([QUEUED, SENT, DELIVERED]);
    const messages = harness.db.collection<{ _id: string }>("messages");
    const stored = await messages.findOne({ _id: messageId });
    expect(stored).to.include({ revision: 4 });
  });

  it("accept the outcome of a claim that the other replica made", async () => {
    const messageId = await send(one);
    const first = await claimOne(at(one), "alpha");
    await report(at(other), first, OutcomeKind.NOT_SENT);
    const [again] = await claimAt(other, "carrier-2");
    expect(again?.messageId).to.equal(messageId);
    const stale = await report(at(one), again ?? first, OutcomeKind.ACCEPTED);
    expect(stale).to.deep.equal([]);
    expect(await statuses(messageId)).to.deep.equal([QUEUED, SENT]);
  });

  it("do not claim a message that the other replica has cancelled", async () => {
    const messageId = await send(one);
    await other.cancelMessage({ tenantId: tenant.id, messageId });
    expect(await claimAt(one)).to.deep.equal([]);
    expect(await statuses(messageId)).to.deep.equal([QUEUED, CANCELLED]);
  });

  it("claim a message again after the other replica has put it back in its queue", async () => {
    const messageId = await send(one);
    const claimed = await claimOne(at(other), "alpha");
    expect(claimed.messageId).to.equal(messageId);
    await report(at(other), claimed, OutcomeKind.NOT_SENT, { errorCode: "carrier_unavailable" });
    const again = await claimOne(at(one), "alpha");
    expect(again.messageId).to.equal(messageId);
    expect(again.attempt).to.equal(1);
    await report(at(one), again, OutcomeKind.ACCEPTED);
    await deliver(other, messageId);
    expect(await statuses(messageId)).to.deep.equal([QUEUED, SENT, DELIVERED]);
    expect(await breachesOf(harness)).to.deep.equal([]);
  });
});
