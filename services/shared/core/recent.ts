/**
 * Makes a key the most recent of a map, and beyond `max` forgets the least recent: a map keeps the
 * order in which its keys were set.
 */
export function setRecent<K, V>(map: Map<K, V>, key: K, value: V, max: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= max) return;
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}
