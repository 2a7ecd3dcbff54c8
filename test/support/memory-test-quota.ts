/** The daily quota of test messages in memory, for tests without Redis. */
import type { TestQuota } from "../../gateway/rate-limit/test-quota.ts";

const DAY_MS = 86_400_000;

export function createMemoryTestQuota(perDay: number, now: () => number = Date.now): TestQuota {
  const used = new Map<string, number>();
  const keyOf = (tenantId: string) => `${tenantId}|${Math.floor(now() / DAY_MS)}`;
  return {
    async take(tenantId, count) {
      const sum = (used.get(keyOf(tenantId)) ?? 0) + count;
      if (sum > perDay) return DAY_MS - (now() % DAY_MS);
      used.set(keyOf(tenantId), sum);
      return 0;
    },
    async refund(tenantId, count) {
      used.set(keyOf(tenantId), Math.max(0, (used.get(keyOf(tenantId)) ?? 0) - count));
    },
  };
}
