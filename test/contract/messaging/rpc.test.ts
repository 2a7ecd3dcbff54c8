import { type Client, createClient } from "@connectrpc/connect";
import { expect } from "chai";
import {
  MessageStatus,
  MessagingService,
  OutcomeKind,
  ReceiptState,
  SendEndpoint,
} from "../../../proto/gen/sms/v1/messaging_pb.js";
import { newId } from "../../../services/shared/core/ids.ts";
import { createLogger } from "../../../services/shared/io/log.ts";
import { createRpcAuth, readRpcCallers } from "../../../services/shared/rpc/auth.ts";
import { createRpcServer } from "../../../services/shared/rpc/server.ts";
import { createGrpcJsTransport } from "../../../services/shared/rpc/transport.ts";
import { claim, codeOf, keyed, makeTenant, singleSend } from "../../support/messaging-harness.ts";
import { openMessagingSuite } from "../../support/messaging-suite.ts";
import { eventually } from "../../support/poll.ts";

const TOKEN = "a-token-for-the-contract-test";

/** The interface promises the same in memory and over gRPC. */
for (const transport of ["in memory", "over gRPC"] as const) {
  describe(`the messaging interface ${transport}`, () => {
    const { harness, tenant } = openMessagingSuite();
    let messaging: Client<typeof MessagingService>;
    let closeServer = async (): Promise<void> => undefined;

    before(async () => {
      messaging = harness.messaging;
      if (transport === "over gRPC") {
        const log = createLogger("test", "silent");
        const auth = createRpcAuth(readRpcCallers(undefined, TOKEN));
        const server = createRpcServer({ routes: harness.routes, auth, log });
        const port = await server.listen("127.0.0.1", 0);
        const channel = createGrpcJsTransport({ target: `127.0.0.1:${port}`, token: TOKEN });
        messaging = createClient(MessagingService, channel);
        closeServer = async () => {
          channel.close();
          await server.drain(1000);
        };
      }
    });
    after(() => closeServer());

    it("holds, queues, hands out once, sends at its route's price, and settles a message", async () => {
      const { message } = await messaging.sendMessages(singleSend(tenant, { body: "€ and 😀" }));
      const id = message?.id ?? "";
      expect(message).to.include({ status: MessageStatus.QUEUED, heldAmount: 40_000n });
      const { wallet } = await harness.wallets.getWallet({ tenantId: tenant.id });
      expect(wallet?.held).to.equal(40_000n);
      const claimed = await eventually(async () => {
        const ask = { connectorId: "alpha", carrierId: "c-1", max: 10 };
        const { messages } = await messaging.claimMessages(ask);
        return messages.find(({ messageId }) => messageId === id);
      });
      expect(claimed).to.include({ body: "€ and 😀", to: "+2348031234567", from: "Acme" });
      const outcome = { messageId: id, claimId: claimed.claimId, kind: OutcomeKind.ACCEPTED };
      expect(await claim(harness, "alpha")).to.deep.equal([]);
      const { staleMessageIds } = await messaging.reportOutcomes({ outcomes: [outcome] });
      expect(staleMessageIds).to.deep.equal([]);
      const receipt = { messageId: id, segment: 1, state: ReceiptState.UNDELIVERED };
      await messaging.recordReceipts({ receipts: [{ ...receipt, errorCode: "network_error" }] });
      const got = (await messaging.getMessage({ tenantId: tenant.id, messageId: id })).message;
      expect(got?.status).to.equal(MessageStatus.UNDELIVERED);
      expect(got?.error?.code).to.equal("network_error");
      expect(got).to.include({ unitPrice: 40_000n, amount: 40_000n });
      expect(got?.history.map(({ status }) => status)).to.deep.equal([
        MessageStatus.QUEUED,
        MessageStatus.SENT,
        MessageStatus.UNDELIVERED,
      ]);
    });

    it("answers a replay of a bulk send with every entry as it was", async () => {
      const recipients = ["08031234567", "x", "08031234567"].map((to) => ({ to }));
      const bulk = singleSend(tenant, { endpoint: SendEndpoint.BULK, recipients });
      const request = keyed(bulk, `replay-${transport.replaceAll(" ", "-")}`);
      const first = await messaging.sendMessages(request);
      expect(first).to.include({ requested: 3, accepted: 1, rejected: 2, segments: 1 });
      expect(first.entries.map(({ error }) => error?.code)).to.deep.equal([
        undefined,
        "invalid_recipient",
        "duplicate_recipient",
      ]);
      const second = await messaging.sendMessages(request);
      expect({ ...second, replayed: false }).to.deep.equal(first);
    });

    it("answers each kind of refusal by its code", async () => {
      const poor = await makeTenant(harness, { funds: 1n });
      const send = (overrides: Parameters<typeof singleSend>[1]) =>
        codeOf(messaging.sendMessages(singleSend(tenant, overrides)));
      expect(await send({ from: "Nobody" })).to.equal("sender_id_not_approved");
      expect(await send({ body: "" })).to.equal("validation_error");
      expect(await send({ recipients: [{ to: "123" }] })).to.equal("validation_error");
      expect(await send({ tenantId: "ten_nobody" })).to.equal("not_found");
      expect(await send({ tenantId: poor.id })).to.equal("insufficient_balance");
      await harness.tenants.updateTenant({ tenantId: poor.id, suspended: true });
      await eventually(async () => (await send({ tenantId: poor.id })) === "tenant_suspended");
      await harness.tenants.updateTenant({ tenantId: poor.id, emailVerified: false });
      await eventually(async () => (await send({ tenantId: poor.id })) === "email_not_verified");
    });

    it("shows and cancels only what is the tenant's own", async () => {
      const stranger = await makeTenant(harness);
      const { message } = await messaging.sendMessages(singleSend(tenant));
      const theirs = { tenantId: stranger.id, messageId: message?.id ?? "" };
      expect(await codeOf(messaging.getMessage(theirs))).to.equal("not_found");
      expect(await codeOf(messaging.cancelMessage(theirs))).to.equal("not_found");
      const mine = { ...theirs, tenantId: tenant.id };
      const cancelled = await messaging.cancelMessage(mine);
      expect(cancelled.message?.status).to.equal(MessageStatus.CANCELLED);
      expect((await messaging.cancelMessage(mine)).message).to.deep.equal(cancelled.message);
    });

    it("sends the retention of messages before the first charge, and also without any charge", async () => {
      for (const tenantId of [tenant.id, newId("tenant")]) {
        const reported: unknown[] = [];
        for await (const { messageKeepMs } of messaging.streamCharges({ tenantId })) {
          reported.push(messageKeepMs);
        }
        expect(reported[0]).to.equal(31_708_800_000n);
      }
    });

    it("streams every charge in order of id, and finds no breach", async () => {
      const ids: string[] = [];
      for await (const { charges } of messaging.streamCharges({ tenantId: tenant.id })) {
        ids.push(...charges.map(({ messageId }) => messageId));
      }
      expect(ids.length).to.be.greaterThan(3);
      expect(ids).to.deep.equal([...ids].sort());
      let last: { breaches: readonly unknown[]; done: boolean } | undefined;
      for await (const part of messaging.checkMessages({})) last = part;
      expect(last?.done).to.equal(true);
      expect(last?.breaches).to.deep.equal([]);
    });

    it("names what was changed behind its back, for all and for its tenant", async () => {
      const { message } = await messaging.sendMessages(singleSend(tenant));
      const id = message?.id ?? "";
      const documents = harness.db.collection<{ _id: string }>("messages");
      await documents.updateOne({ _id: id }, { $set: { status: "delivered" } });
      for (const [tenantId, wanted] of [
        ["", [id]],
        [tenant.id, [id]],
        [newId("tenant"), []],
      ] as const) {
        const named = new Set<string>();
        for await (const { breaches } of messaging.checkMessages({ tenantId })) {
          for (const { ids } of breaches) for (const each of ids) named.add(each);
        }
        expect([...named], tenantId).to.deep.equal(wanted);
      }
      await documents.updateOne({ _id: id }, { $set: { status: "queued" } });
    });
  });
}
