/**
 * A memory budget for request bodies, over all connections: bodies being received, and bodies of requests in
 * progress. A client can begin a body and stop sending. Over the budget the body that began first is evicted:
 * a normal client sends its body within moments.
 */

/** One body's share of the budget. */
export type BodyReservation = {
  /** Adds bytes that are kept in memory. May evict this body, or an older one. */
  grow(bytes: number): void;
  /** Gives back the bytes of a body that is not kept. */
  shrink(): void;
  /** Marks the body complete: it is no longer evicted, but counts until `release`. */
  complete(): void;
  release(): void;
  isEvicted(): boolean;
};

/** Reserves memory for bodies. */
export type BodyBudget = {
  /** Reserves a share; `evict` is called at most once, when the body must be dropped. */
  reserve(evict: () => void): BodyReservation;
};

/** The maximum number of bodies that are being received at once. */
const RECEIVED_MAX = 2048;

/** The maximum bytes kept for all bodies: 48 MiB of the 512 MiB that the chart gives the process by default. */
const BYTES_MAX = 50_331_648;

/** Creates the budget of one server. */
export function createBodyBudget(
  bounds = { receivedMax: RECEIVED_MAX, bytesMax: BYTES_MAX },
): BodyBudget {
  type Entry = { bytes: number; isEvicted: boolean; evict: (() => void) | undefined };
  /** Bodies that are being received, the oldest first. */
  const received = new Set<Entry>();
  let total = 0;

  function free(entry: Entry): void {
    total -= entry.bytes;
    entry.bytes = 0;
  }

  function evictOldest(): void {
    while (received.size > bounds.receivedMax || (total > bounds.bytesMax && received.size > 0)) {
      const [oldest] = received;
      if (oldest === undefined) return;
      received.delete(oldest);
      free(oldest);
      oldest.isEvicted = true;
      oldest.evict?.();
    }
  }

  return {
    reserve(evict) {
      const entry: Entry = { bytes: 0, isEvicted: false, evict };
      received.add(entry);
      evictOldest();
      return {
        grow(bytes) {
          entry.bytes += bytes;
          total += bytes;
          evictOldest();
        },
        shrink: () => free(entry),
        complete() {
          received.delete(entry);
          // The reservation lives as long as the request, and `evict` would keep the whole body reader alive.
          entry.evict = undefined;
        },
        release() {
          received.delete(entry);
          free(entry);
        },
        isEvicted: () => entry.isEvicted,
      };
    },
  };
}
