import type { AuditRecord } from "../../proto/gen/sms/v1/audit_pb.js";
import { formatInstant } from "../../services/shared/core/rfc3339.ts";
import { textOrNull } from "./message.ts";

/** The public name of each method that changes something of an account. */
export const AUDIT_ACTIONS: Readonly<Record<string, string>> = {
  "TenantService/CreateTenant": "account.created",
  "TenantService/UpdateTenant": "account.updated",
  "TenantService/UpdateAccount": "account.updated",
  "TenantService/CreateApiKey": "api_key.created",
  "TenantService/IssueApiKey": "api_key.created",
  "TenantService/RevokeApiKey": "api_key.revoked",
  "TenantService/InvitePerson": "person.invited",
  "TenantService/ChangeRole": "person.role_changed",
  "TenantService/RemovePerson": "person.removed",
  "TenantService/EnableSecondFactor": "second_factor.enabled",
  "TenantService/DisableSecondFactor": "second_factor.disabled",
  "TenantService/ResetSecondFactor": "second_factor.reset",
  "TenantService/CreatePortalLink": "portal_link.created",
  "TenantService/OpenSession": "session.opened",
  "TenantService/SwitchTenant": "session.opened",
  "TenantService/EndSession": "session.ended",
  "SenderIdService/CreateSenderId": "sender_id.registered",
  "SenderIdService/RequestSenderId": "sender_id.requested",
  "SenderIdService/ReviewSenderId": "sender_id.reviewed",
  "WalletService/CreateWallet": "wallet.created",
  "WalletService/FundWallet": "wallet.funded",
  "WalletService/AdjustWallet": "wallet.adjusted",
  "WalletService/UpdateWallet": "wallet.updated",
  "WalletService/SetLowBalanceThreshold": "wallet.updated",
  "MessagingService/CancelMessage": "message.cancelled",
  "MessagingService/CancelCampaign": "campaign.messages_cancelled",
  "WebhookService/CreateEndpoint": "webhook_endpoint.created",
  "WebhookService/UpdateEndpoint": "webhook_endpoint.updated",
  "WebhookService/DeleteEndpoint": "webhook_endpoint.deleted",
  "WebhookService/RotateSecret": "webhook_endpoint.secret_rotated",
  "WebhookService/SendTestEvent": "webhook_endpoint.tested",
  "WebhookService/ResendDelivery": "webhook_delivery.resent",
  "WebhookService/RecoverDeliveries": "webhook_endpoint.recovered",
  "CampaignService/CreateCampaign": "campaign.created",
  "CampaignService/UpdateCampaign": "campaign.updated",
  "CampaignService/DeleteCampaign": "campaign.deleted",
  "CampaignService/AddRecipients": "campaign.recipients_added",
  "CampaignService/ClearRecipients": "campaign.recipients_removed",
  "CampaignService/StartCampaign": "campaign.started",
  "CampaignService/PauseCampaign": "campaign.paused",
  "CampaignService/ResumeCampaign": "campaign.resumed",
  "CampaignService/CancelOpenCampaign": "campaign.cancelled",
  "ConsentService/AddSuppressions": "suppression.added",
  "ConsentService/RemoveSuppression": "suppression.removed",
  "ConsentService/CreateInboundNumber": "inbound_number.created",
  "ConsentService/RemoveInboundNumber": "inbound_number.removed",
  "ConsentService/SetKeywords": "keywords.changed",
};

/** Fields of changes that only operators may see. */
const INTERNAL = new Set(["plan", "tenant_id"]);

/** The prefix of an actor's name when the actor is a person of the console. */
const PERSON = "console:";
const KEY_ACTOR = /^api_key:(key_[0-9A-HJKMNP-TV-Z]{26})$/;

/** The actor of a change, as customers see it. Operators have neither name nor address here. */
function renderActor({ actor }: AuditRecord) {
  const { name = "", address = "" } = actor ?? {};
  const key = KEY_ACTOR.exec(name)?.[1];
  if (key !== undefined) return { type: "api_key", id: key, address: textOrNull(address) };
  if (!name.startsWith(PERSON)) return { type: "operator", id: null, address: null };
  return { type: "person", id: name.slice(PERSON.length), address: textOrNull(address) };
}

/** Renders an entry. */
export function renderAuditEntry(record: AuditRecord) {
  return {
    id: record.id,
    object: "audit_entry",
    action: AUDIT_ACTIONS[record.method.replace(/^sms\.v1\./, "")] ?? "other",
    actor: renderActor(record),
    subject: textOrNull(record.subject),
    before: readChange(record.before),
    after: readChange(record.after),
    request_id: textOrNull(record.requestId),
    created_at: formatInstant(Number(record.createdAtMs)),
  };
}

/** One side of a change; null when there is none. */
function readChange(text: string): Readonly<Record<string, unknown>> | null {
  if (text === "") return null;
  try {
    const change = JSON.parse(text) as Record<string, unknown>;
    const shown = Object.entries(change).filter(([name]) => !INTERNAL.has(name));
    return Object.fromEntries(shown);
  } catch {
    // An entry of version 0.2.0 may be no JSON.
    return null;
  }
}
