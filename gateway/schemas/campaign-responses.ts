/** Response schemas of campaigns, for the OpenAPI document. */
import { CAMPAIGN_STATUSES, ROW_STATUSES } from "../../services/shared/core/campaign-status.ts";
import {
  AMOUNT,
  COUNT,
  CURRENCY,
  INSTANT,
  idOf,
  MODE,
  object,
  orNull,
  ROW_FAULTS,
  type Schema,
  TEXT_OR_NULL,
} from "./schema-parts.ts";

const REASON = {
  ...object({ code: { type: "string" }, message: { type: "string" } }),
  type: ["object", "null"],
} as const;

const CAMPAIGN = object({
  id: idOf("cmp"),
  object: { const: "campaign" },
  mode: MODE,
  name: { type: "string" },
  status: {
    type: "string",
    enum: CAMPAIGN_STATUSES,
    description:
      "Completed: each recipient has a message or an error, and none is queued; receipts may still come.",
  },
  pause_reason: {
    ...TEXT_OR_NULL,
    description:
      "While paused: `customer`, `insufficient_balance`, `budget_reached`, `sender_id_not_approved` or " +
      "`tenant_suspended`.",
  },
  from: { type: "string" },
  body: { type: "string" },
  send_at: orNull(INSTANT),
  rate_per_second: { type: ["integer", "null"] },
  budget_amount: orNull(AMOUNT),
  quiet_hours: TEXT_OR_NULL,
  client_reference: TEXT_OR_NULL,
  currency: CURRENCY,
  progress: {
    ...object({
      total: COUNT,
      rejected: COUNT,
      waiting: COUNT,
      queued: COUNT,
      sent: COUNT,
      delivered: COUNT,
      undelivered: COUNT,
      expired: COUNT,
      failed: COUNT,
      cancelled: COUNT,
      held_amount: AMOUNT,
      charged_amount: AMOUNT,
    }),
    description: "Each recipient counts once, by the present status of its message.",
  },
  created_at: INSTANT,
  started_at: orNull(INSTANT),
  completed_at: {
    ...orNull(INSTANT),
    description: "When it was completed, cancelled or failed.",
  },
  updated_at: INSTANT,
});

const RECIPIENT = object({
  object: { const: "campaign_recipient" },
  index: { ...COUNT, description: "Its place in the campaign." },
  to: { type: "string" },
  variables: { type: "object", additionalProperties: { type: "string" } },
  client_reference: TEXT_OR_NULL,
  status: { type: "string", enum: ROW_STATUSES },
  message_id: orNull(idOf("msg") as { type: string }),
  error: REASON,
});

const IMPORT = object({
  object: { const: "campaign_import" },
  taken: COUNT,
  rejected: COUNT,
  duplicates: { ...COUNT, description: "Rows whose number the campaign has already." },
  faults: ROW_FAULTS,
});

const ESTIMATE = object({
  object: { const: "campaign_estimate" },
  recipients: { ...COUNT, description: "Those that would be sent." },
  rejected: { ...COUNT, description: "Those that would be rejected." },
  rejected_by_code: { type: "object", additionalProperties: COUNT },
  segments: COUNT,
  amount: { ...AMOUNT, description: "The most that it can cost." },
  available_amount: AMOUNT,
  currency: CURRENCY,
  countries: {
    type: "array",
    items: object({
      country: { type: "string", description: "ISO 3166 code." },
      recipients: COUNT,
      segments: COUNT,
      amount: AMOUNT,
    }),
  },
});

const PREVIEW = object({
  object: { const: "campaign_preview" },
  index: COUNT,
  to: { type: "string" },
  body: TEXT_OR_NULL,
  segments: COUNT,
  error: REASON,
});

const TEST_RESULT = object({
  object: { const: "campaign_test" },
  messages: {
    type: "array",
    items: object({
      to: { type: "string" },
      message_id: orNull(idOf("msg") as { type: string }),
      error: REASON,
    }),
  },
});

/** Every named response schema of campaigns. */
export const CAMPAIGN_SCHEMAS: Readonly<Record<string, Schema>> = {
  Campaign: CAMPAIGN,
  CampaignRecipient: RECIPIENT,
  CampaignImport: IMPORT,
  CampaignEstimate: ESTIMATE,
  CampaignPreview: PREVIEW,
  CampaignTestResult: TEST_RESULT,
};
