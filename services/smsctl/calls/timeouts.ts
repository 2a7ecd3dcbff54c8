/**
 * Options of a call that walks all data before it responds: minutes for a million messages. The service
 * finishes the work even if the caller disconnects.
 */
export const LONG_CALL = { timeoutMs: 1_800_000 } as const;
