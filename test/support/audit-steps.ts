/** Calls of audited RPCs of the webhook, campaign and consent services, for the test of the audit trail. */
import type { DescService } from "@bufbuild/protobuf";
import type { Client } from "@connectrpc/connect";
import { CampaignService } from "../../proto/gen/sms/v1/campaign_pb.js";
import { Mode } from "../../proto/gen/sms/v1/common_pb.js";
import { ConsentService } from "../../proto/gen/sms/v1/consent_pb.js";
import { Role } from "../../proto/gen/sms/v1/identity_pb.js";
import { OperatorRole } from "../../proto/gen/sms/v1/operator_pb.js";
import { TenantService } from "../../proto/gen/sms/v1/tenant_pb.js";
import { WebhookService } from "../../proto/gen/sms/v1/webhook_pb.js";
import { codeOf, stepAt } from "../../services/tenant/domain/totp.ts";
import { fromBase32 } from "./base32.ts";
import type { Mailbox } from "./mailbox.ts";
import { operatorToken } from "./operator-browser.ts";
import { eventually } from "./poll.ts";
import type { AuditedMethod } from "./rpc-effects.ts";

/** One call and the entry that it leaves. */
export type AuditStep = {
  readonly method: AuditedMethod;
  readonly call: () => Promise<unknown>;
  /** The tenant of the entry; empty for what belongs to the operator. */
  readonly tenantId?: string | (() => string);
  /** The content of the changed fields. */
  readonly before?: object | "";
  readonly after?: object | "";
};

/** A step that is made when its turn comes. */
export type LazyStep = (() => Promise<AuditStep>) & { readonly method: AuditedMethod };
/** Names a step before it is made. */
export const lazy = (
  method: AuditedMethod,
  make: () => Promise<Omit<AuditStep, "method">>,
): LazyStep => Object.assign(async () => ({ method, ...(await make()) }), { method });

/** Returns a function that makes steps whose entries belong to one tenant, or to the operator if none is given. */
export const stepsOf =
  (tenantId: NonNullable<AuditStep["tenantId"]> = "") =>
  (
    method: AuditedMethod,
    call: () => Promise<unknown>,
    texts: Pick<AuditStep, "before" | "after"> = {},
    prepare: () => Promise<unknown> = async () => undefined,
  ): LazyStep =>
    lazy(method, async () => {
      await prepare();
      return { tenantId, call, ...texts };
    });

/** The dependencies of the steps. */
export type AuditWorld = {
  readonly client: <S extends DescService>(service: S) => Client<S>;
  readonly tenantId: string;
  readonly sender: string;
  readonly mailbox: Mailbox;
  /** Each delivery to it fails. */
  readonly failingUrl: string;
};

export function identitySteps({ client, tenantId, mailbox }: AuditWorld): LazyStep[] {
  const identity = client(TenantService);
  const signIn = async () => {
    await identity.requestSignIn({ email, address: "203.0.113.7" });
    const opened = await identity.openSession({ token: await mailbox.tokenFor(email, "sgn") });
    return opened.session?.id ?? "";
  };
  const step = stepsOf(tenantId);
  const email = "audited@example.org";
  let token = "";
  let sessionId = "";
  let personId = "";

  function factorSteps(): LazyStep[] {
    const on = { second_factor: true };
    const off = { second_factor: false };
    const code = async () => {
      const { secret } = await identity.beginSecondFactor({ sessionId });
      return codeOf(fromBase32(secret), stepAt(Date.now()));
    };
    let codes: readonly string[] = [];
    const enable = async (right: string) => {
      codes = (await identity.enableSecondFactor({ sessionId, code: right })).recoveryCodes;
    };
    return [
      lazy("TenantService/EnableSecondFactor", async () => {
        const right = await code();
        return { tenantId: otherTenant, call: () => enable(right), before: off, after: on };
      }),
      lazy("TenantService/DisableSecondFactor", async () => ({
        tenantId: otherTenant,
        call: () => identity.disableSecondFactor({ sessionId, code: codes[0] ?? "" }),
        before: on,
        after: off,
      })),
      lazy("TenantService/ResetSecondFactor", async () => {
        await enable(await code());
        const reset = { tenantId, personId, inAllTenants: true };
        return { tenantId, call: () => identity.resetSecondFactor(reset), before: on, after: off };
      }),
    ];
  }
  let otherTenant = "";
  return [
    step(
      "TenantService/CreatePortalLink",
      async () => {
        const { url } = await identity.createPortalLink({ tenantId, role: Role.OWNER });
        token = url.slice(url.indexOf("#") + 1);
      },
      { before: "", after: { kind: "portal", role: "owner" } },
    ),
    step(
      "TenantService/OpenSession",
      async () => {
        const { session } = await identity.openSession({ token, address: "203.0.113.7" });
        sessionId = session?.id ?? "";
      },
      { before: "", after: { role: "owner", address: "203.0.113.7" } },
    ),
    step("TenantService/EndSession", () => identity.endSession({ sessionId }), { after: "" }),
    step(
      "TenantService/InvitePerson",
      async () => {
        const invited = await identity.invitePerson({ tenantId, email, role: Role.VIEWER });
        personId = invited.person?.id ?? "";
      },
      { before: "", after: { email, role: "viewer" } },
    ),
    step(
      "TenantService/ChangeRole",
      () => identity.changeRole({ tenantId, personId, role: Role.SENDER }),
      { before: { role: "viewer" }, after: { role: "sender" } },
    ),
    lazy("TenantService/SwitchTenant", async () => {
      const made = await client(TenantService).createTenant({ name: `switched ${Date.now()}` });
      otherTenant = made.tenant?.id ?? "";
      await identity.invitePerson({ tenantId: otherTenant, email, role: Role.VIEWER });
      sessionId = await signIn();
      return {
        tenantId: otherTenant,
        call: async () => {
          const switched = await identity.switchTenant({ sessionId, tenantId: otherTenant });
          sessionId = switched.session?.id ?? "";
        },
        before: { role: "sender" },
        after: { role: "viewer" },
      };
    }),
    ...factorSteps(),
    step("TenantService/RemovePerson", () => identity.removePerson({ tenantId, personId }), {
      before: { email },
      after: "",
    }),
  ];
}

export function operatorSteps({ client }: AuditWorld): LazyStep[] {
  const identity = client(TenantService);
  const step = stepsOf();
  const person = "audited-operator@example.org";
  let token = "";
  let sessionId = "";
  return [
    step(
      "TenantService/CreateOperatorLink",
      async () => {
        token = await operatorToken({ tenants: identity }, person, OperatorRole.FINANCE);
      },
      { before: "", after: { person, role: "finance" } },
    ),
    step(
      "TenantService/OpenOperatorSession",
      async () => {
        const opened = await identity.openOperatorSession({ token, address: "203.0.113.7" });
        sessionId = opened.session?.id ?? "";
      },
      { before: "", after: { person, address: "203.0.113.7" } },
    ),
    step("TenantService/EndOperatorSession", () => identity.endOperatorSession({ sessionId }), {
      before: { person },
      after: "",
    }),
    step("TenantService/RemoveOperator", () => identity.removeOperator({ person }), {
      before: { person },
      after: "",
    }),
  ];
}

export function webhookSteps({ client, tenantId, failingUrl: url }: AuditWorld): LazyStep[] {
  const webhooks = client(WebhookService);
  const hook = { tenantId, endpointId: "" };
  let deliveryId = "";
  const statusOf = async () =>
    (await webhooks.getDelivery({ ...hook, deliveryId })).delivery?.status;
  const failed = async () => {
    await eventually(async () => (await statusOf()) === 3);
  };
  const step = stepsOf(tenantId);
  return [
    step(
      "WebhookService/CreateEndpoint",
      async () => {
        const { endpoint } = await webhooks.createEndpoint({ tenantId, url });
        hook.endpointId = endpoint?.id ?? "";
      },
      { before: "", after: { url, secrets: "hidden" } },
    ),
    step(
      "WebhookService/UpdateEndpoint",
      () => webhooks.updateEndpoint({ ...hook, description: "audited" }),
      { before: { description: "" }, after: { description: "audited" } },
    ),
    step("WebhookService/RotateSecret", () => webhooks.rotateSecret(hook), {
      before: { secrets: "hidden" },
      after: { secrets: "hidden" },
    }),
    step("WebhookService/SendTestEvent", async () => {
      deliveryId = (await webhooks.sendTestEvent(hook)).delivery?.id ?? "";
    }),
    step(
      "WebhookService/ResendDelivery",
      () => webhooks.resendDelivery({ ...hook, deliveryId }),
      {},
      failed,
    ),
    step(
      "WebhookService/RecoverDeliveries",
      () => webhooks.recoverDeliveries(hook),
      { after: { recovered: 1 } },
      failed,
    ),
    step("WebhookService/DeleteEndpoint", () => webhooks.deleteEndpoint(hook), {
      before: { description: "audited" },
      after: "",
    }),
  ];
}

export function campaignSteps({ client, tenantId, sender }: AuditWorld): LazyStep[] {
  const campaigns = client(CampaignService);
  const target = { tenantId, mode: Mode.TEST, campaignId: "" };
  /** It starts tomorrow, so that nothing changes it but the calls below. */
  const create = async (name: string) => {
    const sendAtMs = BigInt(Date.now() + 86_400_000);
    const content = { name, body: "Hi", from: sender, sendAtMs };
    const { campaign } = await campaigns.createCampaign({ tenantId, mode: Mode.TEST, content });
    target.campaignId = campaign?.id ?? "";
  };
  const add = () => campaigns.addRecipients({ ...target, rows: [{ to: "08031234567" }] });
  const step = stepsOf(tenantId);
  const change = (name: AuditedMethod, call: () => Promise<unknown>, from: string, to: string) =>
    step(name, call, { before: { status: from }, after: { status: to } });
  return [
    step("CampaignService/CreateCampaign", () => create("one"), { before: "" }),
    step("CampaignService/UpdateCampaign", () =>
      campaigns.updateCampaign({ ...target, content: { name: "two" }, fields: ["name"] }),
    ),
    step("CampaignService/AddRecipients", add, { after: { next_row: 1 } }),
    step("CampaignService/ClearRecipients", () => campaigns.clearRecipients(target)),
    step("CampaignService/DeleteCampaign", () => campaigns.deleteCampaign(target), { after: "" }),
    step(
      "CampaignService/StartCampaign",
      () => campaigns.startCampaign(target),
      { before: { status: "draft" }, after: { status: "scheduled" } },
      async () => {
        await create("three");
        await add();
      },
    ),
    change(
      "CampaignService/PauseCampaign",
      () => campaigns.pauseCampaign(target),
      ...(["scheduled", "paused"] as const),
    ),
    change(
      "CampaignService/ResumeCampaign",
      () => campaigns.resumeCampaign(target),
      ...(["paused", "scheduled"] as const),
    ),
    change(
      "CampaignService/CancelOpenCampaign",
      () => campaigns.cancelOpenCampaign(target),
      ...(["scheduled", "cancelled"] as const),
    ),
  ];
}

export function consentSteps({ client, tenantId }: AuditWorld): LazyStep[] {
  const consents = client(ConsentService);
  let numberId = "";
  const step = stepsOf(tenantId);
  const number = "+2348039990001";
  const suppressed = { numbers: 1, sender: "", source: "api" };
  return [
    step(
      "ConsentService/AddSuppressions",
      () => consents.addSuppressions({ tenantId, suppressions: [{ number }], source: "api" }),
      { before: "", after: suppressed },
    ),
    step(
      "ConsentService/RemoveSuppression",
      () => consents.removeSuppression({ tenantId, number }),
      { before: { numbers: 1 }, after: "" },
    ),
    step(
      "ConsentService/CreateInboundNumber",
      async () => {
        const made = await consents.createInboundNumber({ tenantId, number: "33777", keyword: "" });
        numberId = made.inboundNumber?.id ?? "";
      },
      { before: "", after: { number: "33777" } },
    ),
    step(
      "ConsentService/RemoveInboundNumber",
      () => consents.removeInboundNumber({ tenantId, id: numberId }),
      { before: { number: "33777" }, after: "" },
    ),
    step(
      "ConsentService/SetKeywords",
      () => consents.setKeywords({ tenantId, keywords: { help: ["AIDE"] } }),
      { before: "" },
    ),
  ];
}
