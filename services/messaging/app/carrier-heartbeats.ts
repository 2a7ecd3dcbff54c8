import type { Clock } from "../../shared/core/clock.ts";
import type { QueueStore } from "./ports.ts";

/** A claim stores a heartbeat of its carrier at most this often. */
const HEARTBEAT_INTERVAL_MS = 5000;

/** Returns a function that stores that a claiming carrier is alive, before it holds any message. */
export function createHeartbeats(
  store: Pick<QueueStore, "beat">,
  clock: Clock,
): (carrierId: string) => Promise<void> {
  const stored = new Map<string, number>();
  return async (carrierId) => {
    const nowMs = clock.now();
    if (nowMs - (stored.get(carrierId) ?? 0) < HEARTBEAT_INTERVAL_MS) return;
    await store.beat(carrierId, nowMs);
    stored.set(carrierId, nowMs);
  };
}
