/** Sample bodies and responses; a test validates each against its schema. */

/** An accepted message. */
export const MESSAGE_EXAMPLE = {
  id: "msg_01M6DSG7HXT9W4M2N8R7C3D6EF",
  object: "message",
  mode: "live",
  channel: "sms",
  direction: "outbound",
  status: "queued",
  to: "+2348031234567",
  from: "Acme",
  body: "Your code is 123456",
  encoding: "gsm7",
  segments: 1,
  held_amount: "4.0000",
  unit_price: null,
  amount: null,
  currency: "NGN",
  client_reference: null,
  campaign_id: null,
  source: "api",
  error: null,
  scheduled_at: null,
  created_at: "2026-11-02T09:30:00.125Z",
  sent_at: null,
  completed_at: null,
  updated_at: "2026-11-02T09:30:00.125Z",
} as const;

/** A delivered message with history. */
export const MESSAGE_WITH_HISTORY_EXAMPLE = {
  ...MESSAGE_EXAMPLE,
  status: "delivered",
  unit_price: "4.0000",
  amount: "4.0000",
  sent_at: "2026-11-02T09:30:00.310Z",
  completed_at: "2026-11-02T09:30:02.480Z",
  updated_at: "2026-11-02T09:30:02.480Z",
  status_history: [
    { status: "queued", occurred_at: "2026-11-02T09:30:00.125Z", error: null },
    { status: "sent", occurred_at: "2026-11-02T09:30:00.310Z", error: null },
    { status: "delivered", occurred_at: "2026-11-02T09:30:02.480Z", error: null },
  ],
} as const;

/** Body of a bulk send. */
export const BULK_EXAMPLE = {
  to: ["+2348031234567", "not a number"],
  from: "Acme",
  body: "We open at nine.",
} as const;

/** Body of a batch. */
export const BATCH_EXAMPLE = {
  from: "Acme",
  messages: [
    { to: "+2348031234567", body: "Ada, your parcel is here.", client_reference: "parcel-1" },
    { to: "+2348051234567", body: "Bola, your parcel is here.", client_reference: "parcel-2" },
  ],
} as const;

/** The response to a batch without rejected items. */
export const BATCH_RESULT_EXAMPLE = {
  object: "send_result",
  requested: 2,
  accepted: 2,
  rejected: 0,
  segments: 2,
  held_amount: "8.0000",
  currency: "NGN",
  mode: "live",
  reservation_id: "rsv_01M6DSG7HXT9W4M2N8R7C3D6EA",
  messages: BATCH_EXAMPLE.messages.map(({ to, client_reference }, index) => ({
    id: `msg_01M6DSG7HXT9W4M2N8R7C3D6E${"BC"[index]}`,
    index,
    input: to,
    to,
    status: "queued",
    segments: 1,
    held_amount: "4.0000",
    client_reference,
    error: null,
  })),
} as const;

/** The response to a bulk send with one rejected recipient. */
export const SEND_RESULT_EXAMPLE = {
  object: "send_result",
  requested: 2,
  accepted: 1,
  rejected: 1,
  segments: 1,
  held_amount: "4.0000",
  currency: "NGN",
  mode: "live",
  reservation_id: "rsv_01M6DSG7HXT9W4M2N8R7C3D6EA",
  messages: [
    {
      id: "msg_01M6DSG7HXT9W4M2N8R7C3D6EB",
      index: 0,
      input: "+2348031234567",
      to: "+2348031234567",
      status: "queued",
      segments: 1,
      held_amount: "4.0000",
      client_reference: null,
      error: null,
    },
    {
      id: "msg_01M6DSG7HXT9W4M2N8R7C3D6EC",
      index: 1,
      input: "not a number",
      to: "not a number",
      status: "rejected",
      segments: 1,
      held_amount: "0.0000",
      client_reference: null,
      error: { code: "invalid_recipient", message: "The recipient is not a valid mobile number." },
    },
  ],
} as const;

/** The balance of a wallet. */
export const BALANCE_EXAMPLE = {
  object: "balance",
  currency: "NGN",
  balance: "25000.0000",
  held: "120.0000",
  available: "24880.0000",
  low_balance_threshold: "1000.0000",
  as_of: "2026-11-02T09:30:00.000Z",
} as const;

/** A sender ID. */
export const SENDER_ID_EXAMPLE = {
  id: "sid_01M3V7ME00T9W4M2N8R7C3D6ED",
  object: "sender_id",
  name: "Acme",
  status: "approved",
  usable: true,
  rejection_reason: null,
  traffic_class: "transactional",
  use_case: null,
  sample: null,
  created_at: "2026-10-01T08:00:00.000Z",
  updated_at: "2026-10-02T11:20:00.000Z",
} as const;

/** A message that was delivered, and announced to a webhook endpoint. */
export const TIMELINE_EXAMPLE = {
  object: "message_timeline",
  message_id: "msg_01M6DSG7HXT9W4M2N8R7C3D6EA",
  entries: [
    { at: "2026-11-02T09:30:00.125Z", type: "status", status: "queued", error: null },
    { at: "2026-11-02T09:30:00.125Z", type: "hold", amount: "4.5000", currency: "NGN" },
    { at: "2026-11-02T09:30:00.400Z", type: "status", status: "sent", error: null },
    { at: "2026-11-02T09:30:00.400Z", type: "charge", amount: "4.0000", currency: "NGN" },
    { at: "2026-11-02T09:30:00.400Z", type: "release", amount: "0.5000", currency: "NGN" },
    {
      at: "2026-11-02T09:30:00.420Z",
      type: "webhook_attempt",
      endpoint_id: "whe_01M3V7ME00T9W4M2N8R7C3D6EF",
      delivery_id: "whd_01M6DSG7HXT9W4M2N8R7C3D6EG",
      event_type: "message.status_changed",
      attempt: 1,
      duration_ms: 85,
      http_status: 200,
      failure: null,
    },
    { at: "2026-11-02T09:30:03.100Z", type: "status", status: "delivered", error: null },
  ],
} as const;

/** A text with the naira sign, priced. */
export const PREVIEW_EXAMPLE = {
  object: "message_preview",
  encoding: "ucs2",
  characters: 14,
  segments: 1,
  last_segment: { used: 14, free: 56 },
  non_gsm7_characters: [{ character: "₦", code_point: "U+20A6", positions: [4] }],
  to: "+2348031234567",
  unit_price: "4.0000",
  amount: "4.0000",
  currency: "NGN",
  refusal: null,
} as const;

/** Body of a request of a sender ID. */
export const SENDER_ID_REQUEST_EXAMPLE = {
  name: "Acme Shop",
  use_case: "Order updates for customers of our shop",
  sample: "Your order 1001 has left our store.",
} as const;

/** A webhook endpoint. */
export const WEBHOOK_ENDPOINT_EXAMPLE = {
  id: "whe_01M3V7ME00T9W4M2N8R7C3D6EF",
  object: "webhook_endpoint",
  url: "https://example.com/sms-events",
  status: "enabled",
  event_types: ["message.status_changed"],
  sources: [],
  description: null,
  disabled_reason: null,
  created_at: "2026-10-01T08:00:00.000Z",
  updated_at: "2026-10-01T08:00:00.000Z",
} as const;

/** A delivery whose second attempt succeeded. */
export const DELIVERY_EXAMPLE = {
  id: "whd_01M6DSG7HXT9W4M2N8R7C3D6EG",
  object: "webhook_delivery",
  endpoint_id: "whe_01M3V7ME00T9W4M2N8R7C3D6EF",
  event_id: "evt_01M6DSG7HXT9W4M2N8R7C3D6EH",
  event_type: "message.status_changed",
  status: "succeeded",
  next_attempt_at: null,
  created_at: "2026-11-02T09:30:00.400Z",
  completed_at: "2026-11-02T09:31:00.650Z",
  attempts: [
    {
      number: 1,
      started_at: "2026-11-02T09:30:00.420Z",
      duration_ms: 85,
      http_status: 500,
      error: "status",
      answer: "oops",
    },
    {
      number: 2,
      started_at: "2026-11-02T09:31:00.510Z",
      duration_ms: 140,
      http_status: 200,
      error: null,
      answer: "",
    },
  ],
} as const;

/** A place in the events of an account. */
export const EVENT_CURSOR_EXAMPLE = "k1.9mZzv1mYBt0wqg6S2dJ8o5n0cXk4QyLrTf3hVbWuPaEiGNjDsKxAzO7C";
