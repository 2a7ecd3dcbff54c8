/** Where a message may come from (`service.md` "Message", field `source`). */
export const MESSAGE_SOURCES = ["api", "campaign", "quick_send", "test_send"] as const;

/** One source of messages. */
export type MessageSourceName = (typeof MESSAGE_SOURCES)[number];
