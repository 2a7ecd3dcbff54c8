/** Pseudo-random numbers, the same for the same seed. */
export type Random = {
  /** A whole number from 0 to below `limit`. */
  below(limit: number): number;
  /** True once in `n`. */
  oneIn(n: number): boolean;
  pick<T>(items: readonly T[]): T;
};

/** A generator (mulberry32, which has 32 bits of state) for a seed of any text. */
export function createRandom(seed: string): Random {
  // FNV-1a, so that seeds that differ in one character have nothing in common.
  let state = 0x811c9dc5;
  for (const character of seed) {
    state = Math.imul(state ^ (character.codePointAt(0) ?? 0), 0x01000193);
  }
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  return {
    below,
    oneIn: (n) => below(n) === 0,
    pick(items) {
      if (items.length === 0) throw new RangeError("nothing to pick from");
      return items[below(items.length)] as (typeof items)[number];
    },
  };
}
