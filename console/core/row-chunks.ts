/** Rows that are laid out together, or not at all while they are far from the screen. */
export const CHUNK_ROWS = 50;

/** The rows in chunks, in order. Only the last one is not full. */
export function chunksOf<T>(rows: readonly T[]): readonly (readonly T[])[] {
  const count = Math.ceil(rows.length / CHUNK_ROWS);
  return Array.from({ length: count }, (_, at) =>
    rows.slice(at * CHUNK_ROWS, (at + 1) * CHUNK_ROWS),
  );
}
