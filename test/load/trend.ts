/** One sample of something: when, in seconds from the start, and how much. */
export type Sample = readonly [atS: number, value: number];

/** How much a series may rise over the time it is checked by; the larger of the two counts. */
export type Tolerance = { readonly share: number; readonly absolute: number };

/** The trend of a series. */
export type Trend = {
  readonly median: number;
  /** By how much the fitted line rises from the first to the last sample checked. */
  readonly rise: number;
  readonly perHour: number;
  readonly isFlat: boolean;
};

/** The samples to compare: the first quarter is the warm-up. */
const WARM_UP_SHARE = 0.25;

/** Lines through more samples than this are fitted to every nth one. */
const SAMPLES_MAX = 400;

/**
 * Whether a series stays flat after its warm-up. The slope is the median of the slopes between all
 * pairs of samples (Theil and Sen): single outliers, such as a collection of garbage or a pause of
 * the machine, hardly move it. A series that falls is flat.
 */
export function trendOf(samples: readonly Sample[], tolerance: Tolerance): Trend {
  const lastS = samples.at(-1)?.[0] ?? 0;
  const checked = thin(samples.filter(([atS]) => atS >= lastS * WARM_UP_SHARE));
  if (checked.length < 3) throw new Error("too few samples to check by");
  const slopes: number[] = [];
  checked.forEach(([atS, value], index) => {
    for (const [laterS, later] of checked.slice(index + 1)) {
      if (laterS > atS) slopes.push((later - value) / (laterS - atS));
    }
  });
  const slope = middle(slopes);
  const median = middle(checked.map(([, value]) => value));
  const rise = slope * (lastS - (checked[0]?.[0] ?? 0));
  const allowed = Math.max(tolerance.share * Math.abs(median), tolerance.absolute);
  return { median, rise, perHour: slope * 3600, isFlat: rise <= allowed };
}

function thin(samples: readonly Sample[]): readonly Sample[] {
  const every = Math.ceil(samples.length / SAMPLES_MAX);
  return samples.filter((_, at) => at % every === 0);
}

function middle(figures: readonly number[]): number {
  const sorted = [...figures].sort((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? 0;
}
