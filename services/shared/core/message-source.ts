/** The possible values of a message's `source` (`docs/contract.md#messages`). */
export const MESSAGE_SOURCES = ["api", "campaign", "quick_send", "test_send"] as const;

/** One source of messages. */
export type MessageSourceName = (typeof MESSAGE_SOURCES)[number];
