/** The webhook events, as OpenAPI 3.1 webhooks (`docs/contract.md#webhooks`). */
import type { EventType } from "../../services/shared/core/event-types.ts";
import {
  CAMPAIGN_EVENT_EXAMPLES,
  INBOUND_EVENT_EXAMPLE,
  MESSAGE_EVENT_EXAMPLES,
  OPT_EVENT_EXAMPLES,
  SENDER_ID_EVENT_EXAMPLES,
  STATUS_CHANGED_EXAMPLE,
  TEST_EVENT_EXAMPLE,
  WALLET_FUNDED_EXAMPLE,
  WALLET_LOW_EXAMPLE,
} from "./content/event-samples.ts";
import type { EventSchemaName } from "./event-schemas.ts";
import { componentRef, type Schema } from "./operation-doc.ts";

type Described = {
  readonly summary: string;
  readonly description: string;
  readonly schema: EventSchemaName;
  /** An example body; absent for an event type that is documented but not sent yet. */
  readonly example?: unknown;
};

const TWICE_AND_ANY_ORDER =
  "Delivery is at least once and in no promised order: deduplicate on `id`, kept for 72 hours at " +
  "least, and apply a status only if it ranks higher than the stored one: scheduled 1, queued 2, " +
  "sent 3, expired 4, undelivered 5, delivered, rejected, failed and cancelled 6.";

/** The retries of a delivery (`docs/contract.md#webhook-delivery`). */
export const ATTEMPTS_NOTE =
  "There are up to 5 attempts: the first at once, then 1 minute, 5 minutes, 15 minutes and 1 hour " +
  "after the failure before. After the fifth failure the delivery has failed; it can be resent or recovered " +
  "for 30 days. An endpoint that has only failed for 3 days is disabled, and says so in `disabled_reason`. " +
  "Events of a time in which it was disabled are never sent.";

function messageEvent(
  status: keyof typeof MESSAGE_EVENT_EXAMPLES | "rejected",
  summary: string,
  sentWhen: string,
): Described {
  const description =
    `${sentWhen} Carries the full Message object. The same change is a \`message.status_changed\` ` +
    `event with an id of its own. ${TWICE_AND_ANY_ORDER}`;
  const described = { summary, description, schema: "MessageEvent" } as const;
  return status === "rejected"
    ? described
    : { ...described, example: MESSAGE_EVENT_EXAMPLES[status] };
}

function senderIdEvent(
  what: keyof typeof SENDER_ID_EVENT_EXAMPLES,
  summary: string,
  description: string,
): Described {
  return { summary, description, schema: "SenderIdEvent", example: SENDER_ID_EVENT_EXAMPLES[what] };
}

function campaignEvent(
  what: keyof typeof CAMPAIGN_EVENT_EXAMPLES,
  summary: string,
  description: string,
): Described {
  return { summary, description, schema: "CampaignEvent", example: CAMPAIGN_EVENT_EXAMPLES[what] };
}

/** The documentation of each type; a type without one does not compile. */
const EVENTS: Readonly<Record<EventType, Described>> = {
  "message.status_changed": {
    summary: "A message has changed its status",
    description:
      "Sent when a message moves to sent, delivered, undelivered, expired, rejected, failed or " +
      `cancelled. ${TWICE_AND_ANY_ORDER}`,
    schema: "MessageStatusChangedEvent",
    example: STATUS_CHANGED_EXAMPLE,
  },
  "message.sent": messageEvent(
    "sent",
    "A message was sent",
    "Sent when a route has accepted the message, which is charged.",
  ),
  "message.delivered": messageEvent(
    "delivered",
    "A message was delivered",
    "Sent when a receipt says that the handset has the message.",
  ),
  "message.undelivered": messageEvent(
    "undelivered",
    "A message could not be delivered",
    "Sent when a receipt says that the network gave up, or when the carrier refuses a later part of a message " +
      "whose first it took; a later receipt may still say delivered.",
  ),
  "message.expired": messageEvent(
    "expired",
    "No receipt came for a message",
    "Sent 72 hours after the message was sent; a late receipt may still better it.",
  ),
  "message.rejected": messageEvent(
    "rejected",
    "A message was rejected",
    "Announced, for a message that is refused after its acceptance. A recipient that the answer to a send " +
      "rejects makes no event, and today nothing else is rejected: this type is not sent.",
  ),
  "message.failed": messageEvent(
    "failed",
    "A message has failed",
    "Sent when no route could send the message; it is not charged.",
  ),
  "message.cancelled": messageEvent(
    "cancelled",
    "A message was cancelled",
    "Sent when a message is cancelled before it was sent; it is not charged.",
  ),
  "inbound_message.received": {
    summary: "A handset has written to one of your numbers",
    description: "Sent when all parts of a message have come, or 10 minutes after the first.",
    schema: "InboundMessageEvent",
    example: INBOUND_EVENT_EXAMPLE,
  },
  "recipient.opted_out": {
    summary: "A number opted out",
    description: "Sent when a handset opts out, or when a suppression is added.",
    schema: "RecipientEvent",
    example: OPT_EVENT_EXAMPLES.out,
  },
  "recipient.opted_in": {
    summary: "A number may be written to again",
    description: "Sent when a handset opts in again, or when a suppression is removed.",
    schema: "RecipientEvent",
    example: OPT_EVENT_EXAMPLES.in,
  },
  "campaign.started": campaignEvent(
    "started",
    "A campaign has started",
    "Sent when a campaign runs for the first time, at once or at its time.",
  ),
  "campaign.paused": campaignEvent(
    "paused",
    "A campaign is paused",
    "Sent when the customer or the service pauses a campaign; `pause_reason` says why.",
  ),
  "campaign.resumed": campaignEvent(
    "resumed",
    "A campaign goes on",
    "Sent when a paused campaign is resumed.",
  ),
  "campaign.completed": campaignEvent(
    "completed",
    "A campaign is completed",
    "Sent when each recipient has a message or an error, and none is queued; receipts may still come.",
  ),
  "campaign.cancelled": campaignEvent(
    "cancelled",
    "A campaign was cancelled",
    "Sent when a campaign is cancelled; its queued messages are cancelled after it.",
  ),
  "campaign.failed": campaignEvent(
    "failed",
    "A campaign has failed",
    "Sent when a campaign that the service paused was not resumed for 7 days.",
  ),
  "sender_id.approved": senderIdEvent(
    "approved",
    "A sender ID was approved",
    "Sent when a sender ID is approved, also after a rejection. `usable` is false while the " +
      "account is suspended.",
  ),
  "sender_id.rejected": senderIdEvent(
    "rejected",
    "A sender ID was rejected",
    "Sent when a sender ID is rejected; `rejection_reason` says why.",
  ),
  "sender_id.suspended": senderIdEvent(
    "suspended",
    "A sender ID was suspended",
    "Sent when an approved sender ID may not be used any more.",
  ),
  "sender_id.reinstated": senderIdEvent(
    "reinstated",
    "A sender ID was reinstated",
    "Sent when a suspended sender ID is approved again.",
  ),
  "wallet.funded": {
    summary: "Money came into the wallet",
    description: "Sent when the wallet is topped up; corrections are no top-ups.",
    schema: "WalletFundedEvent",
    example: WALLET_FUNDED_EXAMPLE,
  },
  "wallet.low_balance": {
    summary: "The available balance is low",
    description:
      "Sent when `available` falls below `low_balance_threshold`, and not again before it has " +
      "been back at the threshold or above.",
    schema: "WalletLowBalanceEvent",
    example: WALLET_LOW_EXAMPLE,
  },
  "webhook.test": {
    summary: "A test event",
    description:
      "Sent to one endpoint on request (POST /v1/webhook-endpoints/{endpoint_id}/test), " +
      "subscribed to it or not.",
    schema: "WebhookTestEvent",
    example: TEST_EVENT_EXAMPLE,
  },
};

/** Examples of the bodies, by the name of their schema. */
export const EVENT_EXAMPLES: ReadonlyMap<string, readonly unknown[]> = new Map(
  [...Map.groupBy(Object.values(EVENTS), ({ schema }) => schema)].map(([schema, events]) => [
    schema,
    events.flatMap(({ example }) => (example === undefined ? [] : [example])),
  ]),
);

/** The OpenAPI object of a request to a webhook endpoint. */
export type WebhookOperation = ReturnType<typeof describeWebhook>;

function header(name: string, description: string, schema: Schema) {
  return { name, in: "header", required: true, description, schema: { type: "string", ...schema } };
}

function headersOf(type: EventType) {
  return [
    header("User-Agent", "Who sends.", { const: "Service-Webhooks/1" }),
    header("X-Service-Event-Type", "The event's type.", { const: type }),
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
      "`t=<unix seconds>`, then a `v1=<hex>` for each active secret, newest first; ignore other keys. Each is " +
        "HMAC-SHA256, in lowercase hex, with the whole secret (`whsec_` included) over t, a dot and the raw body, " +
        "as it came and before it is parsed. Compare in constant time with every v1; any match is enough. Answer " +
        "400 when none matches, or when t is more than 300 seconds away.",
      { pattern: "^t=\\d+(,v1=[0-9a-f]{64})+$" },
    ),
  ];
}

function describeWebhook(type: EventType, { summary, description, schema }: Described) {
  return {
    // `message.status_changed` is messageStatusChanged.
    operationId: type.replace(/[._]([a-z])/g, (_, letter: string) => letter.toUpperCase()),
    summary,
    description,
    security: [],
    parameters: headersOf(type),
    requestBody: {
      required: true,
      content: {
        "application/json": { schema: componentRef(schema) },
      },
    },
    responses: {
      "2XX": { description: "Received, within 10 seconds; the body is ignored." },
      default: { description: `Anything else is a failure. ${ATTEMPTS_NOTE}` },
    },
  };
}

/** The `webhooks` of the OpenAPI document. */
export const WEBHOOKS = Object.fromEntries(
  Object.entries(EVENTS).map(([type, described]) => [
    type,
    { post: describeWebhook(type as EventType, described) },
  ]),
) as Readonly<Record<EventType, { readonly post: WebhookOperation }>>;

/**
 * The events as callbacks of the operation that sets the webhook's address, one for each schema. Some generators, such
 * as oapi-codegen, leave out types that no operation uses; the callbacks make them keep the types of events.
 */
export const EVENT_CALLBACKS = Object.fromEntries(
  [...new Set(Object.values(EVENTS).map(({ schema }) => schema))].map((schema) => [
    schema,
    { "{$request.body#/url}": { post: describeCallback(schema) } },
  ]),
);

function describeCallback(schema: EventSchemaName) {
  return {
    operationId: `receive${schema}`,
    summary: `Receive ${schema}`,
    description: "The webhooks of this document describe each event type.",
    requestBody: {
      required: true,
      content: { "application/json": { schema: componentRef(schema) } },
    },
    responses: {
      "2XX": { description: "Received." },
      "4XX": { description: "Not received: it is sent again." },
    },
  };
}
