/** Sample bodies and responses of campaigns; a test validates each against its schema. */

/** A campaign that runs. */
export const CAMPAIGN_EXAMPLE = {
  id: "cmp_01M6DSG7HXT9W4M2N8R7C3D6EA",
  object: "campaign",
  mode: "live",
  name: "Spring",
  status: "running",
  pause_reason: null,
  from: "Acme",
  body: "Hello {{name}}, we open at nine.",
  send_at: null,
  rate_per_second: null,
  budget_amount: "5000.0000",
  quiet_hours: null,
  client_reference: null,
  currency: "NGN",
  progress: {
    total: 1000,
    rejected: 2,
    waiting: 0,
    queued: 348,
    sent: 120,
    delivered: 530,
    undelivered: 0,
    expired: 0,
    failed: 0,
    cancelled: 0,
    held_amount: "1392.0000",
    charged_amount: "2600.0000",
  },
  created_at: "2026-11-02T09:00:00.000Z",
  started_at: "2026-11-02T09:30:00.125Z",
  completed_at: null,
  updated_at: "2026-11-02T09:30:00.125Z",
} as const;

/** A new campaign, as it is answered. */
export const DRAFT_EXAMPLE = {
  ...CAMPAIGN_EXAMPLE,
  status: "draft",
  budget_amount: null,
  progress: {
    total: 0,
    rejected: 0,
    waiting: 0,
    queued: 0,
    sent: 0,
    delivered: 0,
    undelivered: 0,
    expired: 0,
    failed: 0,
    cancelled: 0,
    held_amount: "0.0000",
    charged_amount: "0.0000",
  },
  started_at: null,
  updated_at: "2026-11-02T09:00:00.000Z",
} as const;

/** Body of a new campaign. */
export const NEW_CAMPAIGN_EXAMPLE = {
  name: "Spring",
  from: "Acme",
  body: "Hello {{name}}, we open at nine.",
} as const;

/** Body with recipients. */
export const RECIPIENTS_EXAMPLE = {
  recipients: [
    { to: "+2348031234567", variables: { name: "Ada" }, client_reference: "customer-1" },
    { to: "08051234567", variables: { name: "Bola" } },
  ],
} as const;

/** A file of recipients. */
export const RECIPIENTS_CSV_EXAMPLE =
  "to,name,client_reference\r\n+2348031234567,Ada,customer-1\r\n08051234567,Bola,\r\n";

/** The result of an import of rows. */
export const IMPORT_EXAMPLE = {
  object: "campaign_import",
  taken: 2,
  rejected: 1,
  duplicates: 0,
  faults: [
    { line: 4, field: "to", code: "invalid_recipient", message: "This is not a mobile number." },
  ],
} as const;

/** A recipient whose message was delivered. */
export const RECIPIENT_EXAMPLE = {
  object: "campaign_recipient",
  index: 0,
  to: "+2348031234567",
  variables: { name: "Ada" },
  client_reference: "customer-1",
  status: "delivered",
  message_id: "msg_01M6DSG7HXT9W4M2N8R7C3D6EF",
  error: null,
} as const;

/** Recipients as a file. */
export const RECIPIENT_CSV_EXAMPLE =
  "index,to,client_reference,status,message_id,error_code,error_message\r\n" +
  "0,+2348031234567,customer-1,delivered,msg_01M6DSG7HXT9W4M2N8R7C3D6EF,,\r\n";

/** The estimate of a campaign. */
export const ESTIMATE_EXAMPLE = {
  object: "campaign_estimate",
  recipients: 998,
  rejected: 2,
  rejected_by_code: { destination_not_supported: 2 },
  segments: 998,
  amount: "3992.0000",
  available_amount: "20000.0000",
  currency: "NGN",
  countries: [{ country: "NG", recipients: 998, segments: 998, amount: "3992.0000" }],
} as const;

/** The text of one recipient. */
export const PREVIEW_EXAMPLE = {
  object: "campaign_preview",
  index: 0,
  to: "+2348031234567",
  body: "Hello Ada, we open at nine.",
  segments: 1,
  error: null,
} as const;

/** The messages of a test. */
export const TEST_EXAMPLE = {
  object: "campaign_test",
  messages: [{ to: "+2348031234567", message_id: "msg_01M6DSG7HXT9W4M2N8R7C3D6EG", error: null }],
} as const;
