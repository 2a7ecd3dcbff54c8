/**
 * The delivery rate of a connector, compared with its own baseline.
 *
 * Submits are counted by the time of their answer, and a receipt counts for its submit. So each window has a rate of
 * its own, and a receipt that comes late changes the window in which its message was sent.
 *
 * | window | submits of | used for |
 * | --- | --- | --- |
 * | last | 5 to 20 minutes ago | whether receipts still come |
 * | recent | 10 to 70 minutes ago | the delivery rate |
 * | baseline | 70 minutes to 25 hours ago | the usual rate |
 */

/** Submits that a carrier accepted, and those of them with a final receipt. */
export type DeliverySums = {
  readonly submitted: number;
  readonly delivered: number;
  readonly undelivered: number;
};

/** The sums of one connector and country in a window; an empty country is all of them. */
export type CountrySums = DeliverySums & { readonly connectorId: string; readonly country: string };

export type DeliveryWindow = "last" | "recent" | "baseline";

/** The submits of a window: from `fromMs` to `untilMs` ago. */
export const WINDOWS: Readonly<
  Record<DeliveryWindow, { readonly fromMs: number; readonly untilMs: number }>
> = {
  last: { fromMs: 20 * 60_000, untilMs: 5 * 60_000 },
  recent: { fromMs: 70 * 60_000, untilMs: 10 * 60_000 },
  baseline: { fromMs: 25 * 3_600_000, untilMs: 70 * 60_000 },
};

/**
 * - `ok`: the rate is near the baseline.
 * - `low`: the rate is below 70 % of the baseline.
 * - `no_receipts`: submits go on and no receipt comes, though they came before.
 * - `too_few`: too few submits to compare.
 */
export type DeliveryState = "ok" | "low" | "no_receipts" | "too_few";

export type DeliveryHealth = {
  readonly connectorId: string;
  /** ISO 3166; empty for all countries, `other` for those with the fewest submits. */
  readonly country: string;
  readonly state: DeliveryState;
  /** The window `recent`. */
  readonly recent: DeliverySums;
  /** The share of delivered submits in `recent`, from 0 to 1; undefined without submits. */
  readonly rate: number | undefined;
  readonly baselineRate: number | undefined;
  /** Submits without a final receipt in the window `recent`, and in the window `baseline`. */
  readonly withoutReceiptHour: number;
  readonly withoutReceiptDay: number;
  /** Submits of the window `last` when receipts have stopped, else 0. */
  readonly submitsSinceReceipt: number;
};

const LOW_RATE = 0.7;
const RECENT_MIN = 100;
const BASELINE_MIN = 200;
const LAST_MIN = 20;
/** A connector whose submits seldom had receipts, such as a transmitter bind, cannot lose them. */
const RECEIPTS_MIN = 0.2;
/** Countries of one connector with figures of their own; the others are one. */
const COUNTRIES_MAX = 20;
const OTHER_COUNTRIES = "other";

const NONE: DeliverySums = { submitted: 0, delivered: 0, undelivered: 0 };

/** The health of every connector and its countries with submits in a window. */
export function deliveryHealth(
  sums: Readonly<Record<DeliveryWindow, readonly CountrySums[]>>,
): DeliveryHealth[] {
  const kept = largestCountries(sums);
  const windows = {
    last: byPlace(sums.last, kept),
    recent: byPlace(sums.recent, kept),
    baseline: byPlace(sums.baseline, kept),
  };
  const places = new Map(
    Object.values(windows).flatMap((of) => [...of].map(([name, { place }]) => [name, place])),
  );
  return [...places].map(([name, place]) => {
    const of = (window: DeliveryWindow) => windows[window].get(name)?.sums ?? NONE;
    return { ...place, ...compare(of("last"), of("recent"), of("baseline")) };
  });
}

function compare(last: DeliverySums, recent: DeliverySums, baseline: DeliverySums) {
  const rate = rateOf(recent);
  const baselineRate = rateOf(baseline);
  const hasBaseline = baseline.submitted >= BASELINE_MIN;
  const hadReceipts = hasBaseline && receiptsOf(baseline) / baseline.submitted >= RECEIPTS_MIN;
  const hasStopped = hadReceipts && last.submitted >= LAST_MIN && receiptsOf(last) === 0;
  const isComparable = hasBaseline && recent.submitted >= RECENT_MIN;
  const isLow = (rate ?? 0) < LOW_RATE * (baselineRate ?? 0);
  return {
    state: stateOf({ hasStopped, isComparable, isLow }),
    ...{ recent, rate, baselineRate },
    withoutReceiptHour: recent.submitted - receiptsOf(recent),
    withoutReceiptDay: baseline.submitted - receiptsOf(baseline),
    submitsSinceReceipt: hasStopped ? last.submitted : 0,
  };
}

function stateOf(facts: {
  readonly hasStopped: boolean;
  readonly isComparable: boolean;
  readonly isLow: boolean;
}): DeliveryState {
  if (facts.hasStopped) return "no_receipts";
  if (!facts.isComparable) return "too_few";
  return facts.isLow ? "low" : "ok";
}

/** A message in doubt that a receipt proved was not counted as submitted, so receipts may exceed submits. */
function receiptsOf({ submitted, delivered, undelivered }: DeliverySums): number {
  return Math.min(submitted, delivered + undelivered);
}

function rateOf({ submitted, delivered }: DeliverySums): number | undefined {
  return submitted === 0 ? undefined : Math.min(1, delivered / submitted);
}

type Place = { readonly connectorId: string; readonly country: string };

function byPlace(
  all: readonly CountrySums[],
  kept: ReadonlySet<string>,
): Map<string, { readonly place: Place; readonly sums: DeliverySums }> {
  const places = new Map<string, { readonly place: Place; readonly sums: DeliverySums }>();
  for (const one of all) {
    const { connectorId } = one;
    const own = kept.has(nameOf(one)) ? one.country : OTHER_COUNTRIES;
    for (const country of ["", own]) {
      const place = { connectorId, country };
      const before = places.get(nameOf(place))?.sums ?? NONE;
      places.set(nameOf(place), { place, sums: add(before, one) });
    }
  }
  return places;
}

/** The names of the countries with the most submits of each connector. */
function largestCountries(
  sums: Readonly<Record<DeliveryWindow, readonly CountrySums[]>>,
): ReadonlySet<string> {
  const totals = new Map<string, { connectorId: string; submitted: number }>();
  for (const one of [...sums.recent, ...sums.baseline]) {
    const name = nameOf(one);
    const known = totals.get(name) ?? { connectorId: one.connectorId, submitted: 0 };
    totals.set(name, { ...known, submitted: known.submitted + one.submitted });
  }
  const byConnector = Map.groupBy(totals, ([, { connectorId }]) => connectorId);
  const largest = [...byConnector.values()].flatMap((own) =>
    own.sort(([, one], [, other]) => other.submitted - one.submitted).slice(0, COUNTRIES_MAX),
  );
  return new Set(largest.map(([name]) => name));
}

function nameOf({ connectorId, country }: Place): string {
  return `${connectorId}|${country}`;
}

function add(one: DeliverySums, other: DeliverySums): DeliverySums {
  return {
    submitted: one.submitted + other.submitted,
    delivered: one.delivered + other.delivered,
    undelivered: one.undelivered + other.undelivered,
  };
}
