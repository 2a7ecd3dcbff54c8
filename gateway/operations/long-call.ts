/** Adding a large file, and estimating a large campaign, take longer than other calls. */
export const LONG_CALL = { timeoutMs: 25_000 } as const;
