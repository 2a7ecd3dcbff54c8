/** Largest message unless set, in bytes: a bulk of 1,000 long messages fits with room to spare. */
export const DEFAULT_MESSAGE_BYTES = 8 * 1024 * 1024;
