/**
 * Largest message unless set, in bytes. The longest answer is that to a bulk send: a body of 4 MiB in
 * which every recipient is refused comes back twice, as `input` and as `to`, with some 200 bytes
 * around each.
 */
export const DEFAULT_MESSAGE_BYTES = 16 * 1024 * 1024;
