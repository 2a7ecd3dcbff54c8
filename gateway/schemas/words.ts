/** Message statuses as customers spell them; the set never gains a value within v1. */
export const MESSAGE_STATUSES = [
  "scheduled",
  "queued",
  "sent",
  "delivered",
  "undelivered",
  "expired",
  "rejected",
  "failed",
  "cancelled",
] as const;

/** Every type of event a webhook endpoint may subscribe to (`service.md` "Events"). */
export const WEBHOOK_EVENT_TYPES = [
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
  "sender_id.approved",
  "sender_id.rejected",
  "sender_id.suspended",
  "sender_id.reinstated",
  "wallet.funded",
  "wallet.low_balance",
  "webhook.test",
] as const;

/** Where a message may come from (`service.md` "Message", field `source`). */
export const MESSAGE_SOURCES = ["api", "campaign", "quick_send", "test_send"] as const;
