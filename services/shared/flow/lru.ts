/** What `keepRecent` shortens: a map or a set, whose keys stay in the order in which they were set. */
type Remembered<K> = {
  readonly size: number;
  keys(): Iterable<K>;
  delete(key: K): boolean;
};

/**
 * Forgets the least recent keys of a map or set that has grown beyond `max`, and with them an eighth
 * of it. One at a time would cost 20 to 40 µs each: V8 leaves a hole where a key was deleted until it
 * packs the whole table, and looking for the first key walks over all the holes before it.
 */
export function keepRecent<K>(all: Remembered<K>, max: number): void {
  if (all.size <= max) return;
  let left = all.size - max + (max >> 3);
  for (const key of all.keys()) {
    if (left === 0) return;
    all.delete(key);
    left -= 1;
  }
}

/** Makes a key the most recent of a map, and beyond `max` forgets the least recent ones. */
export function setRecent<K, V>(map: Map<K, V>, key: K, value: V, max: number): void {
  map.delete(key);
  map.set(key, value);
  keepRecent(map, max);
}
