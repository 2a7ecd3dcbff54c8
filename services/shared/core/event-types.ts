/** Every event type that an endpoint can subscribe to (`docs/contract.md#webhooks`). */
export const EVENT_TYPES = [
  "message.status_changed",
  "message.sent",
  "message.delivered",
  "message.undelivered",
  "message.expired",
  "message.rejected",
  "message.failed",
  "message.cancelled",
  "campaign.started",
  "campaign.paused",
  "campaign.resumed",
  "campaign.completed",
  "campaign.cancelled",
  "campaign.failed",
  "inbound_message.received",
  "recipient.opted_out",
  "recipient.opted_in",
  "sender_id.approved",
  "sender_id.rejected",
  "sender_id.suspended",
  "sender_id.reinstated",
  "wallet.funded",
  "wallet.low_balance",
  "webhook.test",
] as const;

/** One type of event. */
export type EventType = (typeof EVENT_TYPES)[number];
