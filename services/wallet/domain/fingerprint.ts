/**
 * An order-independent fingerprint of a multiset. It differs (except in about one of 2^64 cases)
 * when an item is missing, added or changed. The check compares the ledger with reservations and
 * settlements by fingerprint, in constant memory.
 */
export type Fingerprint = { low: number; high: number };

/** The fingerprint of the empty set. */
export function emptyFingerprint(): Fingerprint {
  return { low: 0, high: 0 };
}

/** Adds an item, in place. */
export function addItem(fingerprint: Fingerprint, item: string): void {
  // FNV-1a twice with different bases (Fowler, Noll, Vo; RFC 9923), mixed with MurmurHash3's
  // finaliser and summed, so that order does not matter and equal items do not cancel.
  let low = 0x811c9dc5;
  let high = 0x9747b28c;
  for (let at = 0; at < item.length; at += 1) {
    const code = item.charCodeAt(at);
    low = Math.imul(low ^ code, 0x01000193);
    high = Math.imul(high ^ code, 0x01000193) ^ (high >>> 15);
  }
  fingerprint.low = (fingerprint.low + mix(low)) | 0;
  fingerprint.high = (fingerprint.high + mix(high)) | 0;
}

/** Whether two sets are equal. */
export function isSameSet(one: Fingerprint, other: Fingerprint): boolean {
  return one.low === other.low && one.high === other.high;
}

function mix(value: number): number {
  let mixed = value;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}
