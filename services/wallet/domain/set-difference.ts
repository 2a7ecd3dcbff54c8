/**
 * What one of two large books has and the other has not, in bounded memory and two looks at both. At the first look
 * every part goes by its id to one of many heaps, of which only fingerprints are kept; at the second one only parts
 * of heaps that differ are remembered, and of those no more heaps than there is room for.
 */
import { addItem, emptyFingerprint, type Fingerprint, isSameSet } from "./fingerprint.ts";

/** Heaps: a difference costs the memory of so many times fewer parts than there are. A power of two. */
const HEAPS = 16_384;

type Heap = { readonly ledger: Fingerprint; readonly others: Fingerprint; parts: number };

/** The first look. */
export type Heaps = readonly Heap[];

/** Empty heaps. */
export function emptyHeaps(): Heaps {
  return Array.from({ length: HEAPS }, () => {
    return { ledger: emptyFingerprint(), others: emptyFingerprint(), parts: 0 };
  });
}

/** Adds a part of one of the books, in place. */
export function addToHeap(heaps: Heaps, book: "ledger" | "others", part: string): void {
  const heap = heaps[heapOf(part)];
  if (heap === undefined) return;
  addItem(heap[book], part);
  heap.parts += 1;
}

/** The second look. */
export type Differences = {
  /** Parts of the chosen heaps, by how often the ledger has them more often than the others do. */
  readonly unmatched: Map<string, number>;
  readonly chosen: ReadonlySet<number>;
  /** Further heaps differ, each in one part at least. */
  readonly left: number;
};

/** Chooses heaps that differ, as many as have `partsMax` parts together, and one whatever it has. */
export function chooseHeaps(heaps: Heaps, partsMax: number): Differences {
  const chosen = new Set<number>();
  let parts = 0;
  let left = 0;
  for (const [at, heap] of heaps.entries()) {
    if (isSameSet(heap.ledger, heap.others)) continue;
    parts += heap.parts;
    if (chosen.size === 0 || parts <= partsMax) chosen.add(at);
    else left += 1;
  }
  return { unmatched: new Map(), chosen, left };
}

/** Meets a part again, in place. */
export function meetPart(
  { unmatched, chosen }: Differences,
  book: "ledger" | "others",
  part: string,
): void {
  if (!chosen.has(heapOf(part))) return;
  const value = (unmatched.get(part) ?? 0) + (book === "ledger" ? 1 : -1);
  if (value === 0) unmatched.delete(part);
  else unmatched.set(part, value);
}

/** By the id, which is the part's second word: so both of two amounts of one id come to one heap. */
function heapOf(part: string): number {
  const fingerprint = emptyFingerprint();
  addItem(fingerprint, part.split(" ")[1] ?? "");
  return fingerprint.low & (HEAPS - 1);
}
