/** Median, minimum and maximum of repeated measurements. */
export type Spread = { readonly median: number; readonly min: number; readonly max: number };

/** Sums up measurements; of an even number the middle is the mean of the two middle ones. */
export function spreadOf(figures: readonly number[]): Spread {
  if (figures.length === 0) throw new Error("nothing was measured");
  const sorted = [...figures].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? 0;
  const median = sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2;
  return { median, min: sorted[0] ?? 0, max: sorted.at(-1) ?? 0 };
}
