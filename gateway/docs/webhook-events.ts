/** What the service sends to webhook endpoints, as OpenAPI 3.1 webhooks (`service.md` "Events"). */
import { MESSAGE_STATUSES } from "../../services/shared/core/message-status.ts";

const INSTANT = {
  type: "string",
  format: "date-time",
  pattern: "^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$",
} as const;
const AMOUNT = { type: "string", pattern: "^\\d+\\.\\d{4}$" } as const;
const STATUS = { type: "string", enum: MESSAGE_STATUSES } as const;

function object(properties: Readonly<Record<string, unknown>>) {
  return { type: "object", required: Object.keys(properties), properties };
}

/** The body of a `message.status_changed` event; clients ignore members they do not know. */
export const STATUS_CHANGED_EVENT = object({
  api_version: { const: "v1" },
  created_at: { ...INSTANT, description: "When the change happened, not when it was sent." },
  data: object({
    object: object({
      amount: { ...AMOUNT, description: "0.0000 for a message never sent." },
      body: { type: "string" },
      charge_state: {
        type: "string",
        enum: ["held", "captured", "released", "none"],
        description: "Held while funds are held, captured once charged, released once let go.",
      },
      created_at: INSTANT,
      error_code: { type: ["string", "null"] },
      from: { type: "string" },
      id: { type: "string", pattern: "^msg_[0-9A-HJKMNP-TV-Z]{26}$" },
      object: { const: "message" },
      sent_at: { ...INSTANT, type: ["string", "null"] },
      status: STATUS,
      to: { type: "string" },
      unit_price: { ...AMOUNT, type: ["string", "null"] },
      updated_at: INSTANT,
    }),
    previous_status: STATUS,
  }),
  id: {
    type: "string",
    pattern: "^evt_[0-9A-HJKMNP-TV-Z]{26}$",
    description: "Deduplicate by it.",
  },
  tenant_id: { type: "string", pattern: "^ten_[0-9A-HJKMNP-TV-Z]{26}$" },
  type: { const: "message.status_changed" },
});

/** An event of a message that was just delivered. */
export const STATUS_CHANGED_EXAMPLE = {
  api_version: "v1",
  created_at: "2026-11-02T09:30:02.480Z",
  data: {
    object: {
      amount: "4.0000",
      body: "Your code is 123456",
      charge_state: "captured",
      created_at: "2026-11-02T09:30:00.125Z",
      error_code: null,
      from: "Acme",
      id: "msg_01KB1Z6QZ5T9W4M2N8R7C3D6EF",
      object: "message",
      sent_at: "2026-11-02T09:30:00.310Z",
      status: "delivered",
      to: "+2348031234567",
      unit_price: "4.0000",
      updated_at: "2026-11-02T09:30:02.480Z",
    },
    previous_status: "sent",
  },
  id: "evt_01KB1Z6QZ5T9W4M2N8R7C3D6EK",
  tenant_id: "ten_01KB1Z6QZ5T9W4M2N8R7C3D6EM",
  type: "message.status_changed",
} as const;

function header(name: string, description: string, schema: Readonly<Record<string, unknown>>) {
  return { name, in: "header", required: true, description, schema: { type: "string", ...schema } };
}

/** The `webhooks` of the OpenAPI document. */
export const WEBHOOKS = {
  "message.status_changed": {
    post: {
      operationId: "messageStatusChanged",
      summary: "A message has changed its status",
      description:
        "Sent when a message moves to sent, delivered, undelivered, expired, rejected, failed or " +
        "cancelled. Delivery is at least once and in no promised order: deduplicate on `id`, and " +
        "apply a status only if it ranks higher than the stored one.",
      security: [],
      parameters: [
        header("User-Agent", "Who sends.", { const: "Service-Webhooks/1" }),
        header("X-Service-Event-Type", "The event's type.", { const: "message.status_changed" }),
        header("X-Service-Event-Id", "The event, as in the body: deduplicate by it.", {
          pattern: "^evt_",
        }),
        header("X-Service-Delivery-Id", "The delivery; the same on every retry.", {
          pattern: "^whd_",
        }),
        header("X-Service-Delivery-Attempt", "Which attempt of the delivery this is, from 1.", {
          pattern: "^[1-9]\\d*$",
        }),
        header(
          "X-Service-Signature",
          "`t=<unix seconds>,v1=<hex>`: HMAC-SHA256 with the whole signing secret over t, a dot " +
            "and the raw body. Refuse when t is more than 300 seconds away.",
          { pattern: "^t=\\d+(,v1=[0-9a-f]{64})+$" },
        ),
      ],
      requestBody: {
        required: true,
        content: {
          "application/json": {
            schema: { $ref: "#/components/schemas/MessageStatusChangedEvent" },
            example: STATUS_CHANGED_EXAMPLE,
          },
        },
      },
      responses: {
        "2XX": { description: "Received, within 10 seconds; the body is ignored." },
        default: { description: "Anything else is a failure and is tried again, up to 5 times." },
      },
    },
  },
} as const;
