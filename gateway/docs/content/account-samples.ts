/** Sample responses of API keys, statements and the account; a test validates each against its schema. */

/** An API key. */
export const API_KEY_EXAMPLE = {
  id: "key_01M3V7ME00T9W4M2N8R7C3D6EK",
  object: "api_key",
  name: "Shop backend",
  mode: "live",
  scopes: ["messages:send", "messages:read"],
  allowed_networks: ["203.0.113.0/24"],
  hint: "uXw0",
  status: "active",
  created_at: "2026-10-01T08:00:00.000Z",
  last_used_at: "2026-11-02T09:29:41.000Z",
  expires_at: "2027-11-02T00:00:00.000Z",
  revoked_at: null,
} as const;

/** A key at its creation. */
export const NEW_API_KEY_EXAMPLE = {
  ...API_KEY_EXAMPLE,
  secret: "sk_live_Zm9vYmFyYmF6cXV4Y29ycmVjdGhvcnNlYmF0dGVuXw0",
  last_used_at: null,
} as const;

/** A line of the statement. */
export const WALLET_ENTRY_EXAMPLE = {
  id: "led_01M6DSG7HXT9W4M2N8R7C3D6EM",
  object: "wallet_entry",
  kind: "charge",
  amount: "-4.0000",
  currency: "NGN",
  balance_after: "996.0000",
  held_after: "0.0000",
  available_after: "996.0000",
  message_id: "msg_01M6DSG7HXT9W4M2N8R7C3D6EA",
  reservation_id: "rsv_01M6DSG7HXT9W4M2N8R7C3D6EB",
  reference: null,
  memo: null,
  campaign_id: null,
  created_at: "2026-11-02T09:30:01.250Z",
} as const;

/** A statement as a file. */
export const STATEMENT_CSV_EXAMPLE =
  "created_at,kind,amount,currency,balance_after,held_after,available_after,message_id,reservation_id,reference,memo," +
  "id,campaign_id\r\n2026-11-01T08:00:00.000Z,top_up,1000.0000,NGN,1000.0000,0.0000,1000.0000,,,invoice-1001,," +
  "led_01M6DSG7HXT9W4M2N8R7C3D6EN,\r\n";

/** Counts of messages by day and status. */
export const USAGE_EXAMPLE = {
  object: "usage",
  mode: "live",
  currency: "NGN",
  created_after: "2026-11-01T00:00:00.000Z",
  created_before: "2026-11-02T00:00:00.000Z",
  time_zone: "UTC",
  as_of: "2026-11-02T09:29:50.000Z",
  total: { messages: 1200, segments: 1350, amount: "5380.0000" },
  groups: [
    { day: "2026-11-01", status: "delivered", messages: 1195, segments: 1345, amount: "5380.0000" },
    { day: "2026-11-01", status: "failed", messages: 5, segments: 5, amount: "0.0000" },
  ],
} as const;

/** The account. */
export const ACCOUNT_EXAMPLE = {
  id: "ten_01M3V7ME00T9W4M2N8R7C3D6EP",
  object: "account",
  name: "Acme",
  status: "active",
  email_verified: true,
  currency: "NGN",
  low_balance_threshold: "500.0000",
  redact_bodies: false,
  quiet_hours: "hold",
  requests_per_second: 50,
  requests_burst: 100,
  bulk_recipients_max: 1000,
  created_at: "2026-10-01T08:00:00.000Z",
  updated_at: "2026-10-01T08:00:00.000Z",
} as const;

/** An entry of the audit trail. */
export const AUDIT_ENTRY_EXAMPLE = {
  id: "aud_01M6DSG7HXT9W4M2N8R7C3D6EQ",
  object: "audit_entry",
  action: "wallet.updated",
  actor: { type: "api_key", id: "key_01M3V7ME00T9W4M2N8R7C3D6EK", address: "203.0.113.7" },
  subject: "ten_01M3V7ME00T9W4M2N8R7C3D6EP",
  before: { low_balance_threshold: "0.0000" },
  after: { low_balance_threshold: "500.0000" },
  request_id: "req_01M6DSG7HXT9W4M2N8R7C3D6ER",
  created_at: "2026-11-02T09:30:00.125Z",
} as const;
