/** Chunks with a mean size below this are tiny. A socket in normal use reads at least 1,400 bytes at once. */
const TINY_BYTES = 256;

/** A body is checked after this many chunks: fewer cost little. */
export const CHUNKS_BEFORE_CHECK = 1024;

/** Whether a body arrives in tiny chunks: each chunk costs as much time as 10 KB in one piece. */
export function areTiny(chunks: number, bytes: number): boolean {
  return bytes < chunks * TINY_BYTES;
}
