/** Every type of event an endpoint may subscribe to (`service.md` "Events"). */
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

/** What an endpoint gets when its owner names no types. */
export const DEFAULT_EVENT_TYPES: readonly EventType[] = ["message.status_changed"];

const KNOWN: ReadonlySet<string> = new Set(EVENT_TYPES);

/** Tells whether a text is a type of event. */
export function isEventType(text: string): text is EventType {
  return KNOWN.has(text);
}

/** Where a message may come from (`service.md` "Message", field `source`). */
export const MESSAGE_SOURCES = ["api", "campaign", "quick_send", "test_send"] as const;

/** One source of messages. */
export type MessageSourceName = (typeof MESSAGE_SOURCES)[number];
