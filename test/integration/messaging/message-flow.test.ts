import { expect } from "chai";
import {
  MessageStatus,
  OutcomeKind,
  ReceiptState,
} from "../../../proto/gen/sms/v1/messaging_pb.js";
import {
  type MessagingHarness,
  makeRoute,
  makeTenant,
  openMessagingHarness,
  sendWhenReady,
  singleSend,
  type TestTenant,
} from "../../support/messaging-harness.ts";
import { startServers, type TestServers } from "../../support/servers.ts";

describe("a message from acceptance to its receipt", () => {
  let servers: TestServers;
  let harness: MessagingHarness;
  let tenant: TestTenant;

  before(async () => {
    servers = await startServers();
    harness = await openMessagingHarness(servers);
    tenant = await makeTenant(harness);
    await makeRoute(harness, "alpha");
  });
  after(async () => {
    await harness?.close();
    await servers?.stop();
  });

  it("is held, queued, claimed once, sent at its route's price, and delivered", async () => {
    const sent = await sendWhenReady(harness, singleSend(tenant));
    const message = sent.message;
    expect(message?.status).to.equal(MessageStatus.QUEUED);
    expect(message?.to).to.equal("+2348031234567");
    expect(message?.from).to.equal("Acme");
    expect(message?.heldAmount).to.equal(40_000n);
    const { wallet } = await harness.wallets.getWallet({ tenantId: tenant.id });
    expect(wallet?.held).to.equal(40_000n);

    const claim = { connectorId: "alpha", carrierId: "carrier-1", max: 10 };
    const [claimed] = (await harness.messaging.claimMessages(claim)).messages;
    expect(claimed?.messageId).to.equal(message?.id);
    expect((await harness.messaging.claimMessages(claim)).messages).to.deep.equal([]);

    const id = message?.id ?? "";
    const outcome = {
      messageId: id,
      claimId: claimed?.claimId ?? "",
      kind: OutcomeKind.ACCEPTED,
      occurredAtMs: BigInt(harness.clock.now()),
    };
    const reported = await harness.messaging.reportOutcomes({ outcomes: [outcome] });
    expect(reported.staleMessageIds).to.deep.equal([]);
    await harness.messaging.recordReceipts({
      receipts: [{ messageId: id, state: ReceiptState.DELIVERED }],
    });

    const got = await harness.messaging.getMessage({ tenantId: tenant.id, messageId: id });
    expect(got.message?.status).to.equal(MessageStatus.DELIVERED);
    expect(got.message?.amount).to.equal(40_000n);
    expect(got.message?.history.map(({ status }) => status)).to.deep.equal([
      MessageStatus.QUEUED,
      MessageStatus.SENT,
      MessageStatus.DELIVERED,
    ]);
  });
});
