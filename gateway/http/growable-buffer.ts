/** A byte buffer that doubles its size when it is full. */
export type GrowableBuffer = {
  /** Appends a chunk; returns how many more bytes are now allocated. */
  append(chunk: Buffer): number;
  /** All bytes appended so far. */
  bytes(): Buffer;
};

const CAPACITY_MIN = 4096;

/**
 * Collects the chunks of one body, up to `bytesMax`, in one buffer. Keeping the chunks themselves would cost
 * some hundred bytes for each, and a body may arrive in millions of chunks. A single chunk is not copied.
 */
export function createGrowableBuffer(bytesMax: number): GrowableBuffer {
  let buffer: Buffer = Buffer.alloc(0);
  let size = 0;
  return {
    append(chunk) {
      const before = buffer.length;
      if (size === 0) {
        buffer = chunk;
      } else {
        if (size + chunk.length > buffer.length) {
          const capacity = Math.max(
            size + chunk.length,
            Math.min(bytesMax, Math.max(2 * buffer.length, CAPACITY_MIN)),
          );
          buffer = Buffer.concat([buffer.subarray(0, size)], capacity);
        }
        chunk.copy(buffer, size);
      }
      size += chunk.length;
      return buffer.length - before;
    },
    bytes: () => buffer.subarray(0, size),
  };
}
