/** The bodies of the webhook events (`docs/contract.md#webhooks`). */
import type { EventType } from "../../services/shared/core/event-types.ts";
import { constant, INSTANT, object, openEnum } from "../schemas/schema-parts.ts";
import { componentRef, type Schema } from "./operation-doc.ts";

const AMOUNT = { type: "string", pattern: "^\\d+\\.\\d{4}$" } as const;
/** The message in `message.status_changed`: fewer members than the Message object. */
const CHANGED_MESSAGE = object({
  amount: { ...AMOUNT, description: "0.0000 for a message never sent." },
  body: {
    type: "string",
    description:
      "The text. Where the account has its texts redacted it is empty at a final status, and in a " +
      "delivery that is sent again by hand.",
  },
  charge_state: openEnum(
    ["held", "captured", "released", "none"],
    "Held while funds are held, captured once charged, released once let go; none for a message that never had " +
      "a hold, as in test mode or at a price of zero.",
  ),
  created_at: INSTANT,
  error_code: { type: ["string", "null"] },
  from: { type: "string" },
  id: { type: "string", pattern: "^msg_[0-9A-HJKMNP-TV-Z]{26}$" },
  object: constant("message"),
  sent_at: { ...INSTANT, type: ["string", "null"] },
  status: componentRef("MessageStatus"),
  to: { type: "string" },
  unit_price: { ...AMOUNT, type: ["string", "null"] },
  updated_at: INSTANT,
});

const CHANGED_STATUS = { previous_status: componentRef("MessageStatus") } as const;

const WEBHOOK_TEST = object({ message: { type: "string" }, object: constant("webhook_test") });

/** A kind of event: its types, and the members of its `data`. */
type EventContent = {
  readonly types: readonly EventType[];
  readonly data: Readonly<Record<string, Schema>>;
};

/** Events by the name of their schema. */
const CONTENTS = {
  MessageStatusChangedEvent: {
    types: ["message.status_changed"],
    data: { object: componentRef("ChangedMessage"), ...CHANGED_STATUS },
  },
  MessageEvent: {
    types: [
      "message.sent",
      "message.delivered",
      "message.undelivered",
      "message.expired",
      "message.rejected",
      "message.failed",
      "message.cancelled",
    ],
    data: { object: componentRef("Message"), ...CHANGED_STATUS },
  },
  SenderIdEvent: {
    types: [
      "sender_id.approved",
      "sender_id.rejected",
      "sender_id.suspended",
      "sender_id.reinstated",
    ],
    data: { object: componentRef("SenderIdOfEvent") },
  },
  WalletFundedEvent: {
    types: ["wallet.funded"],
    data: {
      amount: { ...AMOUNT, description: "The amount that was added." },
      object: componentRef("Balance"),
      reference: {
        type: ["string", "null"],
        description: "The payment's reference, if it has one.",
      },
    },
  },
  WalletLowBalanceEvent: {
    types: ["wallet.low_balance"],
    data: { object: componentRef("Balance") },
  },
  InboundMessageEvent: {
    types: ["inbound_message.received"],
    data: { object: componentRef("InboundMessage") },
  },
  RecipientEvent: {
    types: ["recipient.opted_out", "recipient.opted_in"],
    data: {
      inbound_message_id: {
        type: ["string", "null"],
        description: "The message that asked for it; null when it was added or removed otherwise.",
      },
      object: componentRef("Suppression"),
    },
  },
  CampaignEvent: {
    types: [
      "campaign.started",
      "campaign.paused",
      "campaign.resumed",
      "campaign.completed",
      "campaign.cancelled",
      "campaign.failed",
    ],
    data: { object: componentRef("Campaign"), previous_status: componentRef("CampaignStatus") },
  },
  WebhookTestEvent: { types: ["webhook.test"], data: { object: componentRef("WebhookTest") } },
} as const satisfies Readonly<Record<string, EventContent>>;

/** The body of an event; clients ignore unknown members. */
function event(name: string, types: readonly EventType[]): Schema {
  const [only = "", ...others] = types;
  return object({
    api_version: constant("v1"),
    created_at: { ...INSTANT, description: "When the change happened, not when it was sent." },
    data: componentRef(`${name}Data`),
    id: {
      type: "string",
      pattern: "^evt_[0-9A-HJKMNP-TV-Z]{26}$",
      description: "Deduplicate by it.",
    },
    tenant_id: { type: "string", pattern: "^ten_[0-9A-HJKMNP-TV-Z]{26}$" },
    type: others.length === 0 ? constant(only) : openEnum(types),
  });
}

/** A name of a schema of events. */
export type EventSchemaName = keyof typeof CONTENTS;

/** The bodies and their parts, by schema name in the document's components. */
export const EVENT_SCHEMAS: Readonly<Record<string, Schema>> = {
  ...Object.fromEntries(
    Object.entries<EventContent>(CONTENTS).flatMap(([name, { types, data }]) => [
      [name, event(name, types)],
      [`${name}Data`, object(data)],
    ]),
  ),
  ChangedMessage: CHANGED_MESSAGE,
  WebhookTest: WEBHOOK_TEST,
};
