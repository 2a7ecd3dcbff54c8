/** The schemas around a resource: `{data: …}` and pages. Each has a name, so that generators need not invent one. */
import { object, type Schema } from "../schemas/schema-parts.ts";
import { componentRef } from "./operation-doc.ts";

/** Components that responses show alone. */
const SHOWN = [
  "Account",
  "ApiKey",
  "ApiKeyWithSecret",
  "Balance",
  "Campaign",
  "CampaignEstimate",
  "CampaignImport",
  "CampaignTestResult",
  "InboundMessage",
  "Message",
  "MessagePreview",
  "MessageTimeline",
  "MessageWithHistory",
  "SendResult",
  "SenderId",
  "SuppressionImport",
  "Usage",
  "WebhookDelivery",
  "WebhookDeliveryWithBody",
  "WebhookEndpoint",
  "WebhookEndpointWithSecret",
  "WebhookRecovery",
] as const;

/** Components that lists show. */
const LISTED = [
  "ApiKey",
  "AuditEntry",
  "Campaign",
  "CampaignRecipient",
  "InboundMessage",
  "Message",
  "SenderId",
  "Suppression",
  "WalletEntry",
  "WebhookDelivery",
  "WebhookEndpoint",
] as const;

const NEXT_CURSOR = {
  type: ["string", "null"],
  maxLength: 256,
  description: "Give it as `cursor` to read the next page; null on the last.",
} as const;

function listOf(name: string): Schema {
  return { type: "array", items: componentRef(name) };
}

/** Every envelope by its name. */
export const ENVELOPES: Readonly<Record<string, Schema>> = Object.fromEntries([
  ...SHOWN.map((name) => [`${name}Response`, object({ data: componentRef(name) })]),
  ...LISTED.map((name) => [
    `${name}Page`,
    object({ data: listOf(name), next_cursor: NEXT_CURSOR }),
  ]),
  ["CampaignPreviewList", object({ data: listOf("CampaignPreview") })],
]);
