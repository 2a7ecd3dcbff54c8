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

/** Where a message may come from (`service.md` "Message", field `source`). */
export const MESSAGE_SOURCES = ["api", "campaign", "quick_send", "test_send"] as const;
