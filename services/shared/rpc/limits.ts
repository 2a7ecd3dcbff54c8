/**
 * The largest message unless set otherwise, in bytes. The longest response is that to a bulk send: a body of 4
 * MiB in which every recipient is refused comes back twice, as `input` and as `to`, with some 200 bytes around
 * each.
 */
export const DEFAULT_MESSAGE_BYTES = 16 * 1024 * 1024;

/**
 * The deadline of streaming calls that set none, in milliseconds; 0 or less in a call means no limit.
 */
export const DEFAULT_STREAM_TIMEOUT_MS = 300_000;

/** The idle time before a keepalive ping, and the time limit of its answer. */
export const KEEP_ALIVE_MS = 30_000;
export const KEEP_ALIVE_TIMEOUT_MS = 10_000;
