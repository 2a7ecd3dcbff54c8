/**
 * The difference of two large multisets of items, in bounded memory and two passes over both. The
 * first pass adds each item, by its id, to the fingerprint of one of many buckets. The second pass
 * compares single items, and only those of buckets whose fingerprints differ, up to a memory limit.
 */
import { addItem, emptyFingerprint, type Fingerprint, isSameSet } from "./fingerprint.ts";

/**
 * Number of buckets, a power of two. A single difference costs the memory of one bucket's items.
 */
const BUCKETS = 16_384;

type Bucket = { readonly ledger: Fingerprint; readonly others: Fingerprint; items: number };

/** The result of the first pass. */
export type Buckets = readonly Bucket[];

export function emptyBuckets(): Buckets {
  return Array.from({ length: BUCKETS }, () => {
    return { ledger: emptyFingerprint(), others: emptyFingerprint(), items: 0 };
  });
}

/** First pass: adds an item of one side, in place. */
export function addToBucket(buckets: Buckets, source: "ledger" | "others", item: string): void {
  const bucket = buckets[bucketOf(item)];
  if (bucket === undefined) return;
  addItem(bucket[source], item);
  bucket.items += 1;
}

/** The state of the second pass. */
export type Differences = {
  /** Items of the chosen buckets: how many more times the ledger has them than the other side. */
  readonly unmatched: Map<string, number>;
  readonly chosen: ReadonlySet<number>;
  /** Buckets that differ and were not chosen. Each differs in at least one item. */
  readonly left: number;
};

/** Chooses differing buckets of at most `itemsMax` items in all, and always at least one bucket. */
export function chooseBuckets(buckets: Buckets, itemsMax: number): Differences {
  const chosen = new Set<number>();
  let items = 0;
  let left = 0;
  for (const [at, bucket] of buckets.entries()) {
    if (isSameSet(bucket.ledger, bucket.others)) continue;
    items += bucket.items;
    if (chosen.size === 0 || items <= itemsMax) chosen.add(at);
    else left += 1;
  }
  return { unmatched: new Map(), chosen, left };
}

/** Second pass: compares an item of one side, in place. */
export function compareItem(
  { unmatched, chosen }: Differences,
  source: "ledger" | "others",
  item: string,
): void {
  if (!chosen.has(bucketOf(item))) return;
  const value = (unmatched.get(item) ?? 0) + (source === "ledger" ? 1 : -1);
  if (value === 0) unmatched.delete(item);
  else unmatched.set(item, value);
}

/** Hashes the id, the item's second word: two amounts of one id are in the same bucket. */
function bucketOf(item: string): number {
  const fingerprint = emptyFingerprint();
  addItem(fingerprint, item.split(" ")[1] ?? "");
  return fingerprint.low & (BUCKETS - 1);
}
