import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { expect } from "chai";
import { Mode } from "../../../proto/gen/sms/v1/common_pb.js";
import { EventSchema } from "../../../proto/gen/sms/v1/events_pb.js";
import { MessageStatus } from "../../../proto/gen/sms/v1/messaging_pb.js";
import { newId } from "../../../services/shared/core/ids.ts";
import { subjectsOfCampaigns } from "../../../services/shared/core/message-subjects.ts";
import { type RunningConsumer, startConsumer } from "../../../services/shared/io/consumer.ts";
import { createDeadLetters } from "../../../services/shared/io/dead-letters.ts";
import { EVENT_STREAM } from "../../../services/shared/io/nats.ts";
import { publishAll } from "../../../services/shared/io/publisher.ts";
import { createSettleHandler, SETTLE_SUBJECTS } from "../../../services/wallet/adapters/events.ts";
import { eventually } from "../../support/poll.ts";
import { startServers, type TestServers } from "../../support/servers.ts";
import { openWallet, silentLog, type WalletHarness } from "../../support/wallet-harness.ts";

const actor = { name: "test", address: "" };
const LATER_SUBJECTS = subjectsOfCampaigns(["queued", "delivered", "undelivered"]);
const { SENT, DELIVERED, UNDELIVERED, FAILED, CANCELLED, QUEUED } = MessageStatus;

describe("the wallet and the event stream", () => {
  let servers: TestServers;
  let wallet: WalletHarness;
  let consumer: RunningConsumer;
  const tenantId = newId("tenant");
  const durable = `wallet-settle-${tenantId}`;
  before(async () => {
    servers = await startServers();
    wallet = await openWallet(servers);
    await wallet.wallets.create(tenantId, "NGN", 500n, actor);
    await wallet.wallets.fund(tenantId, { kind: "fund", amount: 1000n, reference: "r", actor });
    consumer = startConsumer({
      nats: wallet.nats,
      db: wallet.mongo.db,
      durable,
      // The stream is shared with other tests, so read this test's events only. Later statuses require the same.
      subjects: [...SETTLE_SUBJECTS, ...LATER_SUBJECTS].map((one) => one.replace("*", tenantId)),
      batchMax: 100,
      ackWaitMs: 5000,
      minIntervalMs: 0,
      log: silentLog,
      handle: createSettleHandler({ settleMessages: wallet.settleMessages, log: silentLog }),
    });
  });
  after(async () => {
    await consumer.close();
    const manager = await wallet.nats.connection.jetstreamManager();
    await manager.consumers.delete(EVENT_STREAM, durable);
    await wallet.close();
    await servers.stop();
  });

  function eventOf(messageId: string, reservationId: string, status: MessageStatus, amount = 6n) {
    const id = newId("event");
    const isSent = [SENT, DELIVERED, UNDELIVERED].includes(status);
    const message = {
      id: messageId,
      tenantId,
      reservationId,
      status,
      heldAmount: 10n,
      mode: Mode.LIVE,
      ...(isSent ? { amount } : {}),
    };
    const payload = { case: "messageChanged", value: { message } } as const;
    const data = toBinary(EventSchema, create(EventSchema, { id, tenantId, payload }));
    return {
      id,
      subject: `events.message.${tenantId}.${MessageStatus[status].toLowerCase()}`,
      data,
    };
  }
  async function hold(messages: number): Promise<string> {
    const reservationId = newId("reservation");
    await wallet.wallets.placeHold(tenantId, {
      kind: "hold",
      reservationId,
      amount: BigInt(messages) * 10n,
      messageCount: messages,
      firstMessageId: "msg_1",
      lastMessageId: "msg_9",
      campaignId: "",
    });
    return reservationId;
  }
  const drained = () => eventually(async () => (await consumer.lag()) === 0);

  it("settles each message once from duplicated, late and re-ordered events", async () => {
    const before = await wallet.wallets.get(tenantId);
    const reservationId = await hold(4);
    const [a, b, c, d] = [1, 2, 3, 4].map(() => newId("message")) as [
      string,
      string,
      string,
      string,
    ];
    const sent = eventOf(a, reservationId, SENT);
    const events = [
      eventOf(a, reservationId, DELIVERED),
      sent,
      eventOf(b, reservationId, FAILED),
      eventOf(c, reservationId, QUEUED),
      eventOf(c, reservationId, CANCELLED),
      eventOf(d, reservationId, UNDELIVERED),
      eventOf(b, reservationId, FAILED),
      { ...sent, id: newId("event") },
    ];
    await publishAll(wallet.nats.connection, events);
    await drained();
    const after = await wallet.wallets.get(tenantId);
    expect(after.held).to.equal(0n);
    expect(before.balance - after.balance).to.equal(12n);
    expect(await wallet.breaches(tenantId)).to.deep.equal([]);
  });

  it("settles from the subjects that only the next release uses", async () => {
    const reservationId = await hold(3);
    const events = [SENT, FAILED, CANCELLED].map((status) => {
      const event = eventOf(newId("message"), reservationId, status);
      return { ...event, subject: `${event.subject}.direct` };
    });
    await publishAll(wallet.nats.connection, events);
    await eventually(async () => (await wallet.wallets.get(tenantId)).held === 0n);
    await drained();
  });

  it("logs a second settlement with other amounts and moves nothing", async () => {
    const reservationId = await hold(1);
    const request = { tenantId, reservationId, messageId: newId("message"), heldAmount: 10n };
    const settle = async (capturedAmount: bigint) =>
      (await wallet.settleMessages([{ ...request, capturedAmount }]))[0];
    expect(await settle(6n)).to.deep.equal({ kind: "settled" });
    expect(await settle(6n)).to.deep.equal({ kind: "already", differs: false });
    expect(await settle(7n)).to.deep.equal({ kind: "already", differs: true });
  });

  it("makes an event without a reservation a dead letter and continues", async () => {
    const reservationId = await hold(1);
    const stray = eventOf(newId("message"), newId("reservation"), SENT);
    const good = eventOf(newId("message"), reservationId, SENT);
    await publishAll(wallet.nats.connection, [stray, good]);
    await eventually(async () => (await wallet.wallets.get(tenantId)).held === 0n);
    await drained();
    const dead = await wallet.mongo.db.collection("dead_letters").find({ durable }).toArray();
    expect(dead.map(({ reason }) => reason)).to.deep.equal(["not_found: No such reservation."]);
  });

  it("settles a replayed dead letter only after its cause is fixed", async () => {
    const handle = createSettleHandler({ settleMessages: wallet.settleMessages, log: silentLog });
    const letters = createDeadLetters(wallet.mongo.db, handle);
    const { letters: found } = await letters.list("", 10);
    const [letter] = found;
    if (letter === undefined) throw new Error("there is no dead letter");
    expect(await letters.replay([])).to.equal(0);
    expect(await letters.count()).to.equal(1);

    const { payload } = fromBinary(EventSchema, letter.data);
    if (payload.case !== "messageChanged") throw new Error("not a message's event");
    await wallet.wallets.placeHold(tenantId, {
      kind: "hold",
      reservationId: payload.value.message?.reservationId ?? "",
      amount: 10n,
      messageCount: 1,
      firstMessageId: "msg_1",
      lastMessageId: "msg_1",
      campaignId: "",
    });
    expect(await letters.replay(["another", letter.id])).to.equal(1);
    expect(await letters.count()).to.equal(0);
    expect(await wallet.breaches(tenantId)).to.deep.equal([]);
  });

  it("publishes a funding and a crossing of the threshold once each", async () => {
    const subject = `events.wallet.${tenantId}`;
    const got: string[] = [];
    const read = startConsumer({
      nats: wallet.nats,
      db: wallet.mongo.db,
      durable: `${durable}-reader`,
      subjects: [`${subject}.>`],
      batchMax: 100,
      ackWaitMs: 5000,
      minIntervalMs: 0,
      log: silentLog,
      async handle(items) {
        for (const { data } of items) {
          const { payload } = fromBinary(EventSchema, data);
          if (payload.case !== "walletChanged") continue;
          got.push(`${payload.value.type} ${payload.value.reference}`.trim());
        }
        return items.map(() => ({ kind: "ack" as const }));
      },
    });
    await eventually(() => got.length === 1, { what: "the first funding's event" });
    await hold(40);
    await hold(20);
    await wallet.wallets.fund(tenantId, { kind: "fund", amount: 400n, reference: "r2", actor });
    await hold(40);
    await eventually(() => got.length >= 4, { what: "two crossings and a funding" });
    expect(got).to.deep.equal(["funded r", "low_balance", "funded r2", "low_balance"]);
    await read.close();
    const manager = await wallet.nats.connection.jetstreamManager();
    await manager.consumers.delete(EVENT_STREAM, `${durable}-reader`);
  });
});
