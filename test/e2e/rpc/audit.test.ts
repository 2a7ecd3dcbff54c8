/** Each audited RPC leaves one entry, tried on a real stack with the methods of `rpc-effects.ts`. */
import type { DescService } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { expect } from "chai";
import type { AuditRecord } from "../../../proto/gen/sms/v1/audit_pb.js";
import { CampaignService } from "../../../proto/gen/sms/v1/campaign_pb.js";
import { Mode } from "../../../proto/gen/sms/v1/common_pb.js";
import {
  MessageSource,
  MessagingService,
  SendEndpoint,
} from "../../../proto/gen/sms/v1/messaging_pb.js";
import { RoutingService } from "../../../proto/gen/sms/v1/routing_pb.js";
import { SenderIdReview, SenderIdService } from "../../../proto/gen/sms/v1/sender_id_pb.js";
import { TenantService } from "../../../proto/gen/sms/v1/tenant_pb.js";
import { WalletService } from "../../../proto/gen/sms/v1/wallet_pb.js";
import { WebhookService } from "../../../proto/gen/sms/v1/webhook_pb.js";
import { newId } from "../../../services/shared/core/ids.ts";
import { runInCall } from "../../../services/shared/rpc/call-context.ts";
import {
  createGrpcJsTransport,
  type RpcTransport,
} from "../../../services/shared/rpc/transport.ts";
import {
  type AuditStep,
  campaignSteps,
  consentSteps,
  identitySteps,
  type LazyStep,
  lazy,
  operatorSteps,
  stepsOf,
  webhookSteps,
} from "../../support/audit-steps.ts";
import { insertDeadLetter } from "../../support/dead-letter.ts";
import { openMailbox } from "../../support/mailbox.ts";
import { type Customer, openRestStack, type RestStack } from "../../support/rest.ts";
import { AUDITED, type AuditedMethod } from "../../support/rpc-effects.ts";
import { RPC_SERVICES } from "../../support/rpc-services.ts";
import { ONE_PROCESS, type TestStack } from "../../support/stack.ts";

/** Webhook attempts end soon, so that there is a failed delivery to recover. */
const SETTINGS = { WEBHOOK_RETRY_DELAYS_MS: "10" } as const;

describe("the audit trail", function () {
  this.timeout(60_000);
  let rest: RestStack<TestStack>;
  let transport: RpcTransport;
  let owner: Customer;

  before(async function () {
    this.timeout(240_000);
    rest = await openRestStack(SETTINGS, { processes: ONE_PROCESS });
    transport = createGrpcJsTransport({
      target: rest.stack.grpc.messaging ?? "",
      token: rest.stack.grpc_token,
    });
    owner = await rest.addCustomer();
  });
  after(async function () {
    this.timeout(60_000);
    transport?.close();
    await rest?.close();
  });

  const client = <S extends DescService>(service: S) => createClient(service, transport);

  /** The entries of one request, of every service. */
  async function entriesOf(requestId: string, tenantId = ""): Promise<AuditRecord[]> {
    const pages = await Promise.all(
      RPC_SERVICES.map((service) => client(service).listAuditRecords({ tenantId, limit: 1000 })),
    );
    return pages.flatMap(({ records }) => records.filter((one) => one.requestId === requestId));
  }

  /** Makes the call for a person, and checks its one entry. */
  async function check({
    method,
    call,
    tenantId: of = "",
    before,
    after,
  }: AuditStep): Promise<void> {
    const requestId = newId("request");
    const person = { actorName: "dashboard:ada", actorAddress: "203.0.113.7" };
    await runInCall({ requestId, ...person }, call).catch((error: unknown) => {
      throw new Error(`${method} failed`, { cause: error });
    });
    const [entry, ...others] = await entriesOf(requestId);
    const tenantId = typeof of === "string" ? of : of();
    if (entry === undefined) throw new Error(`${method} left no entry`);
    expect(others, `further entries of ${method}`).to.deep.equal([]);
    expect(entry).to.include({ method: `sms.v1.${method}`, caller: "developer", tenantId });
    expect(entry.actor).to.include({ name: "dashboard:ada", address: "203.0.113.7" });
    expect(entry.subject, `${method}'s subject`).to.not.equal("");
    for (const [text, expected] of [
      [entry.before, before],
      [entry.after, after],
    ] as const) {
      if (expected === "") expect(text, method).to.equal("");
      else if (expected !== undefined) expect(JSON.parse(text), method).to.deep.include(expected);
    }
    expect(entry.before + entry.after).to.not.match(/sk_(live|test)_|whsec_|pa55wor/);
  }

  it("has one entry of each audited method: caller, person, tenant, before and after", async function () {
    this.timeout(120_000);
    const { tenantId } = owner;
    // Nothing listens there.
    const failingUrl = `https://${new URL(rest.stack.receiver.url).hostname}/`;
    const mailbox = openMailbox(rest.stack.dir);
    const world = { client, tenantId, sender: owner.sender, failingUrl, mailbox };
    const done = new Set<AuditedMethod>();
    const steps = [
      ...tenantSteps(),
      ...identitySteps(world),
      ...operatorSteps(world),
      ...senderSteps(tenantId),
      ...walletSteps(),
      ...routingSteps(),
      ...messagingSteps(tenantId),
      ...webhookSteps(world),
      ...campaignSteps(world),
      ...consentSteps(world),
      ...deadLetterSteps(),
    ];
    for (const step of steps) {
      await check(await step());
      done.add(step.method);
    }
    expect([...done].sort()).to.deep.equal([...AUDITED].sort());
  });

  let made = { tenant: "", key: "" };

  function tenantSteps(): LazyStep[] {
    const tenants = client(TenantService);
    return [
      lazy("TenantService/CreateTenant", async () => ({
        call: async () => {
          const { tenant } = await tenants.createTenant({ name: "Audited" });
          made = { ...made, tenant: tenant?.id ?? "" };
        },
        tenantId: () => made.tenant,
        before: "",
        after: { name: "Audited", is_suspended: false },
      })),
      lazy("TenantService/UpdateTenant", async () => ({
        tenantId: made.tenant,
        call: () => tenants.updateTenant({ tenantId: made.tenant, suspended: true }),
        before: { is_suspended: false },
        after: { is_suspended: true },
      })),
      lazy("TenantService/UpdateAccount", async () => ({
        tenantId: made.tenant,
        call: () => tenants.updateAccount({ tenantId: made.tenant, redactBodies: true }),
        before: { redacts_bodies: false },
        after: { redacts_bodies: true },
      })),
      lazy("TenantService/CreateApiKey", async () => ({
        tenantId: made.tenant,
        call: async () => {
          const { key } = await tenants.createApiKey({ tenantId: made.tenant, mode: Mode.TEST });
          made = { ...made, key: key?.id ?? "" };
        },
        before: "",
        after: { mode: "test" },
      })),
      lazy("TenantService/IssueApiKey", async () => ({
        tenantId: made.tenant,
        call: () =>
          tenants.issueApiKey({
            ...{ tenantId: made.tenant, makerKeyId: made.key, mode: Mode.TEST },
            ...{ scopes: ["balance:read"], name: "audited" },
          }),
        before: "",
        after: { mode: "test", name: "audited", scopes: ["balance:read"] },
      })),
      lazy("TenantService/RevokeApiKey", async () => ({
        tenantId: made.tenant,
        call: () => tenants.revokeApiKey({ tenantId: made.tenant, keyId: made.key }),
        before: {},
      })),
    ];
  }

  function senderSteps(tenantId: string): LazyStep[] {
    const senders = client(SenderIdService);
    return [
      lazy("SenderIdService/CreateSenderId", async () => ({
        tenantId,
        call: () => senders.createSenderId({ tenantId, name: "Audited" }),
        before: "",
        after: { name: "Audited", status: "pending" },
      })),
      lazy("SenderIdService/RequestSenderId", async () => ({
        tenantId,
        call: () =>
          senders.requestSenderId({
            ...{ tenantId, name: "Requested", useCase: "updates", sample: "Hello" },
          }),
        before: "",
        after: { name: "Requested", status: "pending", use_case: "updates" },
      })),
      lazy("SenderIdService/ReviewSenderId", async () => ({
        tenantId,
        call: () =>
          senders.reviewSenderId({
            ...{ tenantId, idOrName: "Audited" },
            review: SenderIdReview.APPROVE,
          }),
        before: { status: "pending" },
        after: { status: "approved" },
      })),
    ];
  }

  function walletSteps(): LazyStep[] {
    const wallets = client(WalletService);
    const step = stepsOf(() => made.tenant);
    const of = () => ({ tenantId: made.tenant });
    let fundingId = "";
    return [
      step("WalletService/CreateWallet", () => wallets.createWallet({ ...of(), currency: "NGN" }), {
        before: "",
        after: { currency: "NGN" },
      }),
      step(
        "WalletService/FundWallet",
        () => wallets.fundWallet({ ...of(), amount: 50_000n, reference: "audited" }),
        { before: { balance: "0.0000" }, after: { balance: "5.0000", amount: "5.0000" } },
      ),
      step(
        "WalletService/AdjustWallet",
        () => wallets.adjustWallet({ ...of(), amount: -10_000n, reason: "a correction" }),
        { before: { balance: "5.0000" }, after: { balance: "4.0000", reason: "a correction" } },
      ),
      step(
        "WalletService/SetLowBalanceThreshold",
        () => wallets.setLowBalanceThreshold({ ...of(), lowBalanceThreshold: 10_000n }),
        {
          before: { low_balance_threshold: "0.0000" },
          after: { low_balance_threshold: "1.0000" },
        },
      ),
      step(
        "WalletService/RequestFunding",
        async () => {
          const asked = { ...of(), amount: 10n ** 12n, reason: "invoice 7", key: "audited" };
          fundingId = (await wallets.requestFunding(asked)).funding?.id ?? "";
        },
        { before: "", after: { state: "pending", requested_by: "dashboard:ada" } },
      ),
      step(
        "WalletService/DecideFunding",
        () => wallets.decideFunding({ fundingId, approve: false }),
        { before: { state: "pending" }, after: { state: "refused" } },
      ),
      step("WalletService/UpdateWallet", () => wallets.updateWallet({ ...of(), frozen: true }), {
        before: { frozen: false },
        after: { frozen: true },
      }),
    ];
  }

  function routingSteps(): LazyStep[] {
    const routing = client(RoutingService);
    const id = "audited";
    const smpp = { host: "smsc.example", systemId: "ada", password: "pa55word" };
    const step = stepsOf();
    return [
      step(
        "RoutingService/CreateConnector",
        () => routing.createConnector({ connector: { id, type: 1, smpp } }),
        { before: "", after: { id } },
      ),
      step(
        "RoutingService/UpdateConnector",
        () =>
          routing.updateConnector({
            id,
            connector: { ratePerSecond: 7, smpp: { password: "pa55wor2" } },
            fields: ["rate_per_second", "smpp.password"],
          }),
        {
          before: { rate_per_second: 0, smpp: { password: "hidden" } },
          after: { rate_per_second: 7, smpp: { password: "hidden" } },
        },
      ),
      step(
        "RoutingService/CreateRoute",
        () =>
          routing.createRoute({
            route: { name: id, connectorId: id, prices: [{ prefix: "234", price: 40_000n }] },
          }),
        { before: "", after: { name: id, prices: { "234": "4.0000" } } },
      ),
      step(
        "RoutingService/UpdateRoute",
        () => routing.updateRoute({ idOrName: id, route: { priority: 9 }, fields: ["priority"] }),
        { before: { priority: 0 }, after: { priority: 9 } },
      ),
      step(
        "RoutingService/ImportPrices",
        () => routing.importPrices({ idOrName: id, csv: "prefix,price\n234,4.50\n235,1\n" }),
        {
          before: { prices: { "234": "4.0000" } },
          after: { prices: { "234": "4.5000", "235": "1.0000" } },
        },
      ),
      step(
        "RoutingService/SetQuietHours",
        () =>
          routing.setQuietHours({
            quietHours: {
              country: "DE",
              timeZone: "Europe/Berlin",
              windows: [{ fromMinute: 1200, untilMinute: 480 }],
            },
          }),
        { before: "", after: { country: "DE", time_zone: "Europe/Berlin" } },
      ),
      step("RoutingService/RemoveQuietHours", () => routing.removeQuietHours({ country: "DE" }), {
        after: { windows: [] },
      }),
      step("RoutingService/RemoveRoute", () => routing.removeRoute({ idOrName: id }), {
        before: { name: id },
        after: "",
      }),
      step("RoutingService/RemoveConnector", () => routing.removeConnector({ id }), {
        before: { id },
        after: "",
      }),
    ];
  }

  function messagingSteps(tenantId: string): LazyStep[] {
    const messaging = client(MessagingService);
    const campaignId = newId("campaign");
    const schedule = (source: MessageSource, campaign = "") =>
      messaging.sendMessages({
        ...{ tenantId, mode: Mode.LIVE, source, campaignId: campaign },
        endpoint: SendEndpoint.SINGLE,
        ...{ from: owner.sender, body: "later", recipients: [{ to: "08031234567" }] },
        sendAtMs: BigInt(Date.now() + 86_400_000),
      });
    return [
      lazy("MessagingService/FindMessages", async () => {
        const call = () => messaging.findMessages({ tenantId, to: "+2348031234567" });
        return { tenantId, call, before: "", after: "" };
      }),
      lazy("MessagingService/CancelMessage", async () => {
        const { message } = await schedule(MessageSource.API);
        const call = () => messaging.cancelMessage({ tenantId, messageId: message?.id ?? "" });
        return { tenantId, call, before: { status: "scheduled" }, after: { status: "cancelled" } };
      }),
      lazy("MessagingService/CancelCampaign", async () => {
        await schedule(MessageSource.CAMPAIGN, campaignId);
        const call = () => messaging.cancelCampaign({ tenantId, campaignId });
        return { tenantId, call, before: "", after: { cancelled: 1, unchanged: 0 } };
      }),
    ];
  }

  function deadLetterSteps(): LazyStep[] {
    const step = (name: AuditedMethod, service: string, replay: (id: string) => Promise<unknown>) =>
      lazy(name, async () => {
        const id = await insertDeadLetter(rest.stack.mongodb_uri, `sms_${service}`, made.tenant);
        return { call: () => replay(id), before: "", after: { replayed: 1, ids: [id] } };
      });
    return [
      step("WalletService/ReplayDeadLetters", "wallet", (id) =>
        client(WalletService).replayDeadLetters({ ids: [id] }),
      ),
      step("CampaignService/ReplayDeadLetters", "campaign", (id) =>
        client(CampaignService).replayDeadLetters({ ids: [id] }),
      ),
      step("WebhookService/ReplayDeadLetters", "webhook", (id) =>
        client(WebhookService).replayDeadLetters({ ids: [id] }),
      ),
    ];
  }
});
