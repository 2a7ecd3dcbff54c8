/** Invalid requests to the services themselves: each is refused with the name of the invalid field. */
import { createClient } from "@connectrpc/connect";
import { expect } from "chai";
import { CampaignService } from "../../../proto/gen/sms/v1/campaign_pb.js";
import type { Mode } from "../../../proto/gen/sms/v1/common_pb.js";
import {
  MessageStatus,
  MessagingService,
  type OutcomeKind,
} from "../../../proto/gen/sms/v1/messaging_pb.js";
import { RoutingService } from "../../../proto/gen/sms/v1/routing_pb.js";
import { SenderIdService, SenderIdStatus } from "../../../proto/gen/sms/v1/sender_id_pb.js";
import { TenantService } from "../../../proto/gen/sms/v1/tenant_pb.js";
import { EntryKind, WalletService } from "../../../proto/gen/sms/v1/wallet_pb.js";
import { DeliveryStatus, WebhookService } from "../../../proto/gen/sms/v1/webhook_pb.js";
import { newId } from "../../../services/shared/core/ids.ts";
import { toAppError } from "../../../services/shared/rpc/error-status.ts";
import {
  createGrpcJsTransport,
  type RpcTransport,
} from "../../../services/shared/rpc/transport.ts";
import { oneProcessStack } from "../../support/rest.ts";
import type { TestStack } from "../../support/stack.ts";

/** Clients that may call every method, as no service may. */
const clientsOver = (transport: RpcTransport) => ({
  tenants: createClient(TenantService, transport),
  senderIds: createClient(SenderIdService, transport),
  wallets: createClient(WalletService, transport),
  routing: createClient(RoutingService, transport),
  messaging: createClient(MessagingService, transport),
  webhooks: createClient(WebhookService, transport),
  campaigns: createClient(CampaignService, transport),
});
type Clients = ReturnType<typeof clientsOver>;

const TENANT = newId("tenant");
const TIMES = (count: number) => Array.from({ length: count }, () => ({}));

/** The request, and the field that the refusal names. */
const REFUSALS: Readonly<Record<string, [(on: Clients) => Promise<unknown>, string]>> = {
  "a negative page of tenants": [({ tenants }) => tenants.listTenants({ limit: -1 }), "limit"],
  "tenants behind no cursor": [({ tenants }) => tenants.listTenants({ cursor: "zzz" }), "cursor"],
  "a negative page of sender IDs": [
    ({ senderIds }) => senderIds.listSenderIds({ tenantId: TENANT, limit: -1 }),
    "limit",
  ],
  "sender IDs behind no cursor": [
    ({ senderIds }) => senderIds.listSenderIds({ tenantId: TENANT, cursor: "!!" }),
    "cursor",
  ],
  "a review that is none": [
    ({ senderIds }) => senderIds.reviewSenderId({ tenantId: TENANT, idOrName: "Acme" }),
    "review",
  ],
  "a negative page of entries": [
    ({ wallets }) => wallets.listEntries({ tenantId: TENANT, limit: -1 }),
    "limit",
  ],
  "an audit behind the cursor of a statement": [
    ({ wallets }) => wallets.listAuditEntries({ tenantId: TENANT, cursor: "12.0" }),
    "cursor",
  ],
  "a negative page of dead letters": [
    ({ wallets }) => wallets.listDeadLetters({ limit: -1 }),
    "limit",
  ],
  "dead letters behind no cursor": [
    ({ webhooks }) => webhooks.listDeadLetters({ cursor: "zzz" }),
    "cursor",
  ],
  "a claim without a connector": [
    ({ messaging }) => messaging.claimMessages({ carrierId: "c", max: 1 }),
    "connector_id",
  ],
  "a claim without a carrier": [
    ({ messaging }) => messaging.claimMessages({ connectorId: "c", carrierId: "a|b", max: 1 }),
    "carrier_id",
  ],
  "a claim of nothing": [
    ({ messaging }) => messaging.claimMessages({ connectorId: "c", carrierId: "c" }),
    "max",
  ],
  "too many claims": [({ messaging }) => messaging.claimMany({ claims: TIMES(257) }), "claims"],
  "too many sends": [({ messaging }) => messaging.sendMany({ requests: TIMES(257) }), "requests"],
  "too many outcomes": [
    ({ messaging }) => messaging.reportOutcomes({ outcomes: TIMES(10_001) }),
    "outcomes",
  ],
  "too many receipts": [
    ({ messaging }) => messaging.recordReceipts({ receipts: TIMES(10_001) }),
    "receipts",
  ],
  "claims renewed without a carrier": [({ messaging }) => messaging.renewClaims({}), "carrier_id"],
  "claims recovered without a carrier": [
    ({ messaging }) => messaging.recoverClaims({}),
    "carrier_id",
  ],
  "the cancel of no campaign": [
    ({ messaging }) => messaging.cancelCampaign({ tenantId: TENANT }),
    "campaign_id",
  ],
  "the cancel of a campaign that cannot be": [
    ({ messaging }) => messaging.cancelCampaign({ tenantId: TENANT, campaignId: "x" }),
    "campaign_id",
  ],
  "messages of a campaign that cannot be": [
    ({ messaging }) => messaging.listMessages({ tenantId: TENANT, campaignId: "x" }),
    "campaign_id",
  ],
  "a reservation without a name": [
    ({ messaging }) => messaging.resolveReservations({ reservations: [{ tenantId: TENANT }] }),
    "reservations[0].reservation_id",
  ],
  "a key without its fingerprint": [
    ({ messaging }) =>
      messaging.lookupSend({ tenantId: TENANT, endpoint: 1, idempotencyKey: "k1" }),
    "fingerprint",
  ],
  "an outcome of no kind": [
    ({ messaging }) =>
      messaging.reportOutcomes({ outcomes: [{ kind: 1 }, { kind: 99 as OutcomeKind }] }),
    "outcomes[1].kind",
  ],
  "a campaign of no mode": [
    ({ campaigns }) =>
      campaigns.getCampaign({ tenantId: TENANT, mode: 9 as Mode, campaignId: newId("campaign") }),
    "mode",
  ],
  "the route of a message of no mode": [
    ({ routing }) => routing.explain({ to: "+2348031234567", mode: 9 as Mode }),
    "mode",
  ],
  "the route of a sender whose name is too long": [
    ({ routing }) => routing.explain({ to: "+2348031234567", from: "a".repeat(65) }),
    "from",
  ],
  "the route of a plan whose name is too long": [
    ({ routing }) => routing.explain({ to: "+2348031234567", plan: "a".repeat(65) }),
    "plan",
  ],
  "the route of a tenant whose id is too long": [
    ({ routing }) => routing.explain({ to: "+2348031234567", tenantId: "a".repeat(65) }),
    "tenant_id",
  ],
  "the health of too many binds": [
    ({ routing }) => routing.reportConnectorHealth({ health: TIMES(10_001) }),
    "health",
  ],
};

describe("RPC: invalid requests", function () {
  this.timeout(30_000);
  let stack: TestStack;
  let transport: RpcTransport;
  let services: Clients;

  before(async function () {
    this.timeout(180_000);
    ({ stack } = await oneProcessStack());
    const { grpc, grpc_token: token } = stack;
    transport = createGrpcJsTransport({ target: grpc.messaging ?? "", token });
    services = clientsOver(transport);
  });
  after(() => transport?.close());

  async function refusalOf(call: Promise<unknown>) {
    return call.then(
      () => ({ code: "no error", fields: [] as readonly { readonly field: string }[] }),
      (thrown: unknown) => toAppError(thrown),
    );
  }

  for (const [what, [ask, field]] of Object.entries(REFUSALS)) {
    it(`${what}: ${field}`, async () => {
      const refusal = await refusalOf(ask(services));
      expect(refusal.code).to.equal("validation_error");
      expect(refusal.fields.map((one) => one.field)).to.deep.equal([field]);
    });
  }

  it("a settlement with an invalid capture moves no money of the others in its batch", async () => {
    const { tenants, wallets } = services;
    const { tenant } = await tenants.createTenant({ name: `Settled ${Date.now()}` });
    const tenantId = tenant?.id ?? "";
    await wallets.createWallet({ tenantId, currency: "NGN", actor: { name: "t", address: "t" } });
    const actor = { name: "t", address: "t" };
    await wallets.fundWallet({ tenantId, amount: 100n, reference: "r", actor });
    const reservationId = newId("reservation");
    await wallets.placeHold({ tenantId, reservationId, amount: 20n, messageCount: 2 });
    const part = (capturedAmount: bigint) => ({
      ...{ tenantId, reservationId, messageId: newId("message"), heldAmount: 10n },
      capturedAmount,
    });
    const refusal = await refusalOf(wallets.settleMessages({ settlements: [part(5n), part(11n)] }));
    expect(refusal.fields.map((one) => one.field)).to.deep.equal([
      "settlements[1].captured_amount",
    ]);
    expect(
      (await wallets.getReservation({ tenantId, reservationId })).reservation?.openAmount,
    ).to.equal(20n);
    const other = wallets.placeHold({ tenantId, reservationId, amount: 20n, messageCount: 3 });
    expect((await refusalOf(other)).code).to.equal("idempotency_key_reused");
  });

  it("a message id beyond any clock is a valid cursor of a list", async () => {
    const beforeId = `msg_${"Z".repeat(26)}`;
    const createdBeforeMs = BigInt(Date.now());
    const { messaging } = services;
    const { messages } = await messaging.listMessages({
      tenantId: TENANT,
      beforeId,
      createdBeforeMs,
    });
    expect(messages).to.deep.equal([]);
  });

  it("a repeated status filter counts once", async () => {
    const { tenants, senderIds } = services;
    const { tenant } = await tenants.createTenant({ name: `Asked ${Date.now()}` });
    const tenantId = tenant?.id ?? "";
    await senderIds.createSenderId({ tenantId, name: "Pending1" });
    const approved = Array.from({ length: 4 }, () => 2);
    const listed = await senderIds.listSenderIds({ tenantId, statuses: approved });
    expect(listed.senderIds).to.deep.equal([]);
  });

  it("a filter repeated a million times counts once", async () => {
    const { messaging, webhooks, wallets } = services;
    const delivered = Array.from({ length: 1_000_000 }, () => MessageStatus.DELIVERED);
    const { messages } = await messaging.listMessages({ tenantId: TENANT, statuses: delivered });
    expect(messages).to.deep.equal([]);
    const failed = delivered.map(() => DeliveryStatus.FAILED);
    const target = { tenantId: TENANT, endpointId: newId("webhookEndpoint"), statuses: failed };
    expect((await refusalOf(webhooks.listDeliveries(target))).code).to.equal("not_found");
    const held = delivered.map(() => EntryKind.HOLD);
    expect((await wallets.listEntries({ tenantId: TENANT, kinds: held })).entries).to.be.empty;
  });

  it("concurrent equal reviews are applied once, and all callers get the result", async () => {
    const { tenants, senderIds } = services;
    const { tenant } = await tenants.createTenant({ name: `Reviewed ${Date.now()}` });
    const tenantId = tenant?.id ?? "";
    const made = await senderIds.createSenderId({ tenantId, name: "Reviewed" });
    const idOrName = made.senderId?.id ?? "";
    const reviews = await Promise.all(
      Array.from({ length: 5 }, () => senderIds.reviewSenderId({ tenantId, idOrName, review: 1 })),
    );
    const seen = reviews.map(({ senderId }) => `${senderId?.status} ${senderId?.updatedAtMs}`);
    expect(new Set(seen)).to.have.property("size", 1);
    expect(reviews[0]?.senderId?.status).to.equal(SenderIdStatus.APPROVED);
  });

  it("no idempotency key has a response under an endpoint that does not exist", async () => {
    const { webhooks } = services;
    const asked = webhooks.checkKey({
      ...{ tenantId: TENANT, endpointId: newId("webhookEndpoint"), operation: 2 },
      ...{ idempotencyKey: "k1", fingerprint: new Uint8Array(32) },
    });
    expect((await refusalOf(asked)).code).to.equal("not_found");
  });
});
