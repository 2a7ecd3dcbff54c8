import type { Clock } from "../core/clock.ts";
import { setRecent } from "./lru.ts";
import { runDetached } from "./run-detached.ts";

/** A bounded cache that refreshes values in use before they expire. */
export type RefreshAheadCache<Value> = {
  /** The value when it is fresh, else a promise of one. */
  get(key: string): Value | Promise<Value>;
  /** Drops the matching keys, and the results of loads in flight for them. */
  forget(isMatch: (key: string) => boolean): void;
};

type Entry<Value> = { readonly value: Value; readonly loadedAtMs: number };

/**
 * Values are never older than `maxAgeMs`, counted from the start of their load. From half that age on, a `get`
 * starts a load in the background, so that busy keys never wait. Concurrent loads of a key are one
 * (single-flight). A failed load is not cached and does not replace a fresh value.
 */
export function createRefreshAheadCache<Value>(options: {
  readonly maxAgeMs: number;
  readonly sizeMax: number;
  readonly clock: Clock;
  readonly load: (key: string) => Promise<Value>;
}): RefreshAheadCache<Value> {
  const { maxAgeMs, sizeMax, clock, load } = options;
  const entries = new Map<string, Entry<Value>>();
  const loads = new Map<string, Promise<Value>>();

  function startLoad(key: string): Promise<Value> {
    const pending = loads.get(key);
    if (pending !== undefined) return pending;
    // The age counts from the start: the owner may have read the value before a later change.
    const loadedAtMs = clock.now();
    const loading: Promise<Value> = runDetached(() => load(key)).then(
      (value) => {
        if (loads.get(key) === loading) {
          loads.delete(key);
          setRecent(entries, key, { value, loadedAtMs }, sizeMax);
        }
        return value;
      },
      (error: unknown) => {
        if (loads.get(key) === loading) loads.delete(key);
        throw error;
      },
    );
    loads.set(key, loading);
    return loading;
  }

  return {
    get(key) {
      const entry = entries.get(key);
      if (entry === undefined) return startLoad(key);
      const ageMs = clock.now() - entry.loadedAtMs;
      // After the clock was set back the age is unknown.
      if (ageMs < 0 || ageMs >= maxAgeMs) return startLoad(key);
      if (ageMs >= maxAgeMs / 2) startLoad(key).catch(() => undefined);
      return entry.value;
    },
    forget(isMatch) {
      for (const key of entries.keys()) if (isMatch(key)) entries.delete(key);
      for (const key of loads.keys()) if (isMatch(key)) loads.delete(key);
    },
  };
}
