/**
 * Options of a call that goes through all there is before it answers, which for a million messages takes
 * minutes; the service goes on with it whoever waits.
 */
export const LONG_WORK = { timeoutMs: 1_800_000 } as const;
