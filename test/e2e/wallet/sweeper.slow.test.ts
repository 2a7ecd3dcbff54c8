/**
 * The sweeper corrects lost events and lost commits: the wallet asks the real messaging service
 * over RPC, on a whole stack with the wallet in its own process.
 */
import { randomUUID } from "node:crypto";
import { type Client, createClient } from "@connectrpc/connect";
import { expect } from "chai";
import { connect, type NatsConnection } from "nats";
import {
  type Message,
  MessageStatus,
  MessagingService,
} from "../../../proto/gen/sms/v1/messaging_pb.js";
import { EntryKind, ReservationState, WalletService } from "../../../proto/gen/sms/v1/wallet_pb.js";
import { newId } from "../../../services/shared/core/ids.ts";
import type { MessageStatus as StatusName } from "../../../services/shared/core/message-status.ts";
import { messageSubject } from "../../../services/shared/core/message-subjects.ts";
import { EVENT_STREAM } from "../../../services/shared/io/nats.ts";
import {
  createGrpcJsTransport,
  type RpcTransport,
} from "../../../services/shared/rpc/transport.ts";
import { eventually } from "../../support/poll.ts";
import { callRest } from "../../support/rest.ts";
import { smsctl } from "../../support/smsctl.ts";
import { startTestStack, type TestStack } from "../../support/stack.ts";

const SETTINGS = {
  LOG_LEVEL: "warn",
  SETTLEMENT_GRACE_MS: "2000",
  WALLET_SWEEP_INTERVAL_MS: "200",
};
const PROCESSES = [
  { name: "wallet", services: ["wallet"] },
  {
    name: "services",
    services: [
      ...["tenant", "sender-id", "routing", "messaging", "carrier", "webhook", "gateway"],
      ...["campaign", "consent"],
    ],
  },
];
/** For this number the simulator throttles for five seconds, then accepts and delivers. */
const QUEUE_FULL_FIRST = "+2348031239913";

describe("the wallet's sweeper on the whole stack", function () {
  this.timeout(60_000);
  let stack: TestStack;
  let nats: NatsConnection;
  let channels: RpcTransport[];
  let wallets: Client<typeof WalletService>;
  let messaging: Client<typeof MessagingService>;

  before(async function () {
    this.timeout(120_000);
    stack = await startTestStack({ settings: SETTINGS, processes: PROCESSES });
    nats = await connect({ servers: stack.nats_url });
    channels = ["wallet", "messaging"].map((name) => {
      const target = stack.grpc[name] ?? "";
      return createGrpcJsTransport({ target, token: stack.grpc_token, waitForReady: true });
    });
    const [toWallet, toMessaging] = channels as [RpcTransport, RpcTransport];
    wallets = createClient(WalletService, toWallet);
    messaging = createClient(MessagingService, toMessaging);
  });
  after(async () => {
    for (const channel of channels ?? []) channel.close();
    await nats?.close();
    await stack?.stop();
  });

  const figures = async () => {
    const { wallet } = await wallets.getWallet({ tenantId: stack.tenant_id });
    return { balance: wallet?.balance ?? -1n, held: wallet?.held ?? -1n };
  };
  const settled = () =>
    eventually(async () => (await figures()).held === 0n, {
      what: "nothing held",
      timeoutMs: 20_000,
    });
  /**
   * Retries a 503 with the same key (docs/contract.md#idempotency). Messaging may not have noticed
   * yet that the wallet has restarted.
   */
  const post = (path: string, body: unknown) => {
    const call = { body, apiKey: stack.api_key, key: randomUUID() };
    return eventually(
      async () => {
        const answer = await callRest(stack.gateway, "POST", path, call);
        return answer.status !== 503 && answer;
      },
      { what: `an answer other than 503 from ${path}`, timeoutMs: 15_000, everyMs: 200 },
    );
  };
  async function read(messageId: string): Promise<Message> {
    const { message } = await messaging.getMessage({ tenantId: stack.tenant_id, messageId });
    if (message === undefined) throw new Error("the answer has no message");
    return message;
  }
  /** Removes the message's status events after they are in the stream. */
  async function loseEvents(status: StatusName): Promise<void> {
    const subject = messageSubject(stack.tenant_id, status, false);
    const manager = await nats.jetstreamManager();
    await eventually(
      async () => {
        const { purged } = await manager.streams.purge(EVENT_STREAM, { filter: subject });
        return purged > 0;
      },
      { what: `a stored event ${subject}`, timeoutMs: 20_000 },
    );
  }
  const statement = async (reservationId: string) => {
    const { entries } = await wallets.listEntries({ tenantId: stack.tenant_id, limit: 100 });
    const own = entries.filter((entry) => entry.reservationId === reservationId);
    return own.map(({ kind }) => kind).reverse();
  };

  it("releases only the hold whose send was never committed", async () => {
    await settled();
    const before = await figures();
    const reservationId = newId("reservation");
    const messageId = newId("message");
    const hold = { reservationId, amount: 70_000n, messageCount: 1 };
    const range = { firstMessageId: messageId, lastMessageId: messageId };
    await wallets.placeHold({ tenantId: stack.tenant_id, ...hold, ...range });
    expect((await figures()).held).to.equal(70_000n);
    await settled();
    expect(await figures()).to.deep.equal(before);
    const { reservation } = await wallets.getReservation({
      tenantId: stack.tenant_id,
      reservationId,
    });
    expect(reservation).to.include({ openAmount: 0n, state: ReservationState.CLOSED });
    expect(await statement(reservationId)).to.deep.equal([EntryKind.HOLD, EntryKind.RELEASE]);
  });

  it("charges a message whose events were lost", async () => {
    await settled();
    const before = await figures();
    const sent = await post("/v1/sms/messages", {
      to: QUEUE_FULL_FIRST,
      from: stack.sender_id,
      body: "late",
    });
    expect(sent.status, sent.text).to.equal(202);
    await stack.kill("wallet");
    const isDone = async () => (await read(sent.body.data.id)).status === MessageStatus.DELIVERED;
    await eventually(isDone, { what: "a delivered message", timeoutMs: 30_000 });
    await loseEvents("sent");
    await loseEvents("delivered");
    await stack.restart("wallet");
    await settled();
    const message = await read(sent.body.data.id);
    expect(message.amount).to.be.greaterThan(0n as never);
    const { balance } = await figures();
    expect(balance).to.equal(before.balance - (message.amount ?? 0n));
    expect((await statement(message.reservationId)).slice(0, 2)).to.deep.equal([
      EntryKind.HOLD,
      EntryKind.CAPTURE,
    ]);
  });

  it("releases a cancelled message whose event was lost", async () => {
    await settled();
    const before = await figures();
    const sent = await post("/v1/sms/messages", {
      to: "+2348031234567",
      from: stack.sender_id,
      body: "never mind",
      send_at: new Date(Date.now() + 3_600_000).toISOString(),
    });
    expect(sent.status, sent.text).to.equal(202);
    await stack.kill("wallet");
    const cancelled = await post(`/v1/messages/${sent.body.data.id}/cancel`, {});
    expect(cancelled.status, cancelled.text).to.equal(200);
    await loseEvents("cancelled");
    await stack.restart("wallet");
    await settled();
    expect(await figures()).to.deep.equal(before);
  });

  it("keeps every ledger invariant", async () => {
    const { code, value, error } = await smsctl(stack, "check");
    expect(value, error).to.include({ ok: true });
    expect(code).to.equal(0);
  });
});
