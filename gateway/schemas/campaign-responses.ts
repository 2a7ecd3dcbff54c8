/** Response schemas of campaigns, for the OpenAPI document. */
import { CAMPAIGN_STATUSES, ROW_STATUSES } from "../../services/shared/core/campaign-status.ts";
import {
  AMOUNT,
  COUNT,
  CURRENCY,
  constant,
  INSTANT,
  idOf,
  MESSAGE_ERROR,
  MODE,
  object,
  objectOrNull,
  orNull,
  ROW_FAULTS,
  type Schema,
  TEXT_OR_NULL,
} from "./schema-parts.ts";

const ERROR_OR_NULL = objectOrNull(MESSAGE_ERROR);

/** The sets of campaign and row statuses never grow within v1. */
export const CAMPAIGN_STATUS = {
  type: "string",
  enum: CAMPAIGN_STATUSES,
  description:
    "Completed: each recipient has a message or an error, and none is queued; receipts may still come.",
} as const;

export const RECIPIENT_STATUS = {
  type: "string",
  enum: ROW_STATUSES,
  description: "That of its message; `waiting` without one, `rejected` if it gets none.",
} as const;

const PROGRESS = {
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
} as const;

const CAMPAIGN = object({
  id: idOf("cmp"),
  object: constant("campaign"),
  mode: MODE,
  name: { type: "string" },
  status: CAMPAIGN_STATUS,
  pause_reason: {
    ...TEXT_OR_NULL,
    description:
      "While paused: `customer`, `insufficient_balance`, `budget_reached`, `sender_id_not_approved` or " +
      "`tenant_suspended`; more may be added.",
  },
  from: { type: "string" },
  body: { type: "string" },
  send_at: orNull(INSTANT),
  rate_per_second: { type: ["integer", "null"] },
  budget_amount: orNull(AMOUNT),
  quiet_hours: TEXT_OR_NULL,
  client_reference: TEXT_OR_NULL,
  currency: CURRENCY,
  progress: PROGRESS,
  created_at: INSTANT,
  started_at: orNull(INSTANT),
  completed_at: {
    ...orNull(INSTANT),
    description: "When it was completed, cancelled or failed.",
  },
  updated_at: INSTANT,
});

const RECIPIENT = object({
  object: constant("campaign_recipient"),
  index: { ...COUNT, description: "Its place in the campaign." },
  to: { type: "string" },
  variables: { type: "object", additionalProperties: { type: "string" } },
  client_reference: TEXT_OR_NULL,
  status: RECIPIENT_STATUS,
  message_id: orNull(idOf("msg")),
  error: ERROR_OR_NULL,
});

const IMPORT = object({
  object: constant("campaign_import"),
  taken: COUNT,
  rejected: COUNT,
  duplicates: { ...COUNT, description: "Rows whose number the campaign has already." },
  faults: ROW_FAULTS,
});

const ESTIMATE_OF_COUNTRY = object({
  country: { type: "string", description: "ISO 3166 code." },
  recipients: COUNT,
  segments: COUNT,
  amount: AMOUNT,
});

const ESTIMATE = object({
  object: constant("campaign_estimate"),
  recipients: { ...COUNT, description: "Those that would be sent." },
  rejected: { ...COUNT, description: "Those that would be rejected." },
  rejected_by_code: { type: "object", additionalProperties: COUNT },
  segments: COUNT,
  amount: { ...AMOUNT, description: "The most that it can cost." },
  available_amount: AMOUNT,
  currency: CURRENCY,
  countries: {
    type: "array",
    items: ESTIMATE_OF_COUNTRY,
  },
});

const PREVIEW = object({
  object: constant("campaign_preview"),
  index: COUNT,
  to: { type: "string" },
  body: TEXT_OR_NULL,
  segments: COUNT,
  error: ERROR_OR_NULL,
});

const TEST_MESSAGE = object({
  to: { type: "string" },
  message_id: orNull(idOf("msg")),
  error: ERROR_OR_NULL,
});

const TEST_RESULT = object({
  object: constant("campaign_test"),
  messages: {
    type: "array",
    items: TEST_MESSAGE,
  },
});

/** Every named response schema of campaigns. */
export const CAMPAIGN_SCHEMAS: Readonly<Record<string, Schema>> = {
  Campaign: CAMPAIGN,
  CampaignStatus: CAMPAIGN_STATUS,
  CampaignProgress: PROGRESS,
  CampaignRecipient: RECIPIENT,
  CampaignRecipientStatus: RECIPIENT_STATUS,
  CampaignImport: IMPORT,
  CampaignEstimate: ESTIMATE,
  CampaignCountryEstimate: ESTIMATE_OF_COUNTRY,
  CampaignPreview: PREVIEW,
  CampaignTestResult: TEST_RESULT,
  CampaignTestMessage: TEST_MESSAGE,
};
