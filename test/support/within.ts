import { setTimeout as sleep } from "node:timers/promises";

/** What work gives, or "late" when it has not ended after `limitMs`; it then goes on unheard. */
export async function within<T>(work: Promise<T>, limitMs: number): Promise<T | "late"> {
  const halt = new AbortController();
  const limit = sleep(limitMs, "late" as const, { signal: halt.signal }).catch(
    () => "late" as const,
  );
  try {
    return await Promise.race([work, limit]);
  } finally {
    halt.abort();
  }
}
