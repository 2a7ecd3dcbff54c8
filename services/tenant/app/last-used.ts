import type { Clock } from "../../shared/core/clock.ts";
import { setRecent } from "../../shared/flow/lru.ts";
import { runDetached } from "../../shared/flow/run-detached.ts";
import type { ApiKey } from "../domain/api-key.ts";

/** How exact the last use of a key is. */
export const LAST_USED_STEP_MS = 60_000;

/** Keys whose last write is cached. An evicted key costs one more write. */
const NOTED_MAX = 50_000;

/**
 * Notes that keys were used. The gateway looks a key in use up every few seconds, so a lookup stands for the requests
 * since the one before. Each key is written at most once a minute by each process, and one write covers all keys of a
 * lookup. While a write runs, other writes are skipped: the next lookup of the key writes. A crash or a failed write
 * loses at most a minute.
 */
export function createLastUsed(
  store: { markUsed(keyIds: readonly string[], nowMs: number): Promise<void> },
  clock: Clock,
): (keys: readonly ApiKey[]) => void {
  const noted = new Map<string, number>();
  let isWriting = false;
  return (keys) => {
    if (isWriting) return;
    const nowMs = clock.now();
    const isStale = ({ id, lastUsedAtMs = 0 }: ApiKey) =>
      nowMs - Math.max(lastUsedAtMs, noted.get(id) ?? 0) >= LAST_USED_STEP_MS;
    const ids = keys.filter(isStale).map(({ id }) => id);
    if (ids.length === 0) return;
    for (const id of ids) setRecent(noted, id, nowMs, NOTED_MAX);
    isWriting = true;
    // Authentication neither waits for the write nor fails with it.
    void runDetached(() => store.markUsed(ids, nowMs))
      .catch(() => {
        for (const id of ids) noted.delete(id);
      })
      .finally(() => {
        isWriting = false;
      });
  };
}
