/** The idempotency locks in memory, for tests without Redis. */
import type { KeyLocks } from "../../gateway/idempotency/lock.ts";

export function createMemoryKeyLocks(): KeyLocks {
  const held = new Map<string, Buffer>();
  return {
    async acquire(scope, fingerprint) {
      const holder = held.get(scope);
      if (holder !== undefined) {
        const state = holder.equals(fingerprint) ? "busy_same" : "busy_other";
        return { state, release: async () => undefined };
      }
      held.set(scope, fingerprint);
      return {
        state: "acquired",
        async release() {
          // Only its own: another request may have the key by now.
          if (held.get(scope) === fingerprint) held.delete(scope);
        },
      };
    },
  };
}
