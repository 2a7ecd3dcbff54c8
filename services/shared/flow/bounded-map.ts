/** A map that keeps the newest entries: the oldest leaves when there are more than `max`. */
export type BoundedMap<K, V> = {
  get(key: K): V | undefined;
  /** Adds an entry as the newest. */
  set(key: K, value: V): void;
  delete(key: K): void;
  entries(): Iterable<[K, V]>;
};

/** `onEvicted` gets the value of each entry that leaves. */
export function createBoundedMap<K, V>(
  max: number,
  onEvicted: (value: V) => void = () => undefined,
): BoundedMap<K, V> {
  const map = new Map<K, V>();
  return {
    get: (key) => map.get(key),
    set(key, value) {
      map.delete(key);
      map.set(key, value);
      if (map.size <= max) return;
      const [[oldest, evicted] = [key, value]] = map;
      map.delete(oldest);
      onEvicted(evicted);
    },
    delete: (key) => void map.delete(key),
    entries: () => map.entries(),
  };
}
