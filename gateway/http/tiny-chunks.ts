/** Chunks with a smaller mean are tiny. The smallest read of a socket that is in use has 1,400 bytes. */
const TINY_BYTES = 256;

/** A body is checked after this many chunks: fewer cost little. */
export const CHUNKS_BEFORE_CHECK = 1024;

/** Whether a body arrives in tiny chunks: each costs as much time as 10 KB in one. */
export function areTiny(chunks: number, bytes: number): boolean {
  return bytes < chunks * TINY_BYTES;
}
