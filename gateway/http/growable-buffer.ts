/** The octets of one body as they come. */
export type GrowableBuffer = {
  /** Takes a chunk; answers how many octets more are kept in memory now. */
  add(chunk: Buffer): number;
  /** Everything that came. */
  whole(): Buffer;
};

const CAPACITY_MIN = 4096;

/**
 * Keeps them, up to `bytesMax`, in one buffer that grows by doubling: a chunk by itself costs some hundred
 * octets of memory however short it is, and a body may come in millions of chunks. A body that comes in one
 * is not copied.
 */
export function createGrowableBuffer(bytesMax: number): GrowableBuffer {
  let kept: Buffer = Buffer.alloc(0);
  let size = 0;
  return {
    add(chunk) {
      const before = kept.length;
      if (size === 0) {
        kept = chunk;
      } else {
        if (size + chunk.length > kept.length) {
          const wanted = Math.max(
            size + chunk.length,
            Math.min(bytesMax, Math.max(2 * kept.length, CAPACITY_MIN)),
          );
          kept = Buffer.concat([kept.subarray(0, size)], wanted);
        }
        chunk.copy(kept, size);
      }
      size += chunk.length;
      return kept.length - before;
    },
    whole: () => kept.subarray(0, size),
  };
}
