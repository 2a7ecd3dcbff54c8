/** Calls that load a wallet, and their latency. */
import { newId } from "../../services/shared/core/ids.ts";
import type { WalletClient } from "../support/wallet-process.ts";

const ACTOR = { name: "bench", address: "127.0.0.1" };

/** The result of a call that does not count. */
export const FAILED = Symbol("failed");

/** Holds per second, and how long a call took. */
export type Rate = { readonly perSecond: number; readonly p50Ms: number; readonly p99Ms: number };

/** Runs `callers` loops of `call` until `isOver`; each call counts `weight` holds. */
export async function rateUntil(
  callers: number,
  weight: number,
  call: () => Promise<unknown>,
  isOver: () => boolean,
): Promise<Rate> {
  const latencies: number[] = [];
  const startedMs = performance.now();
  await Promise.all(
    Array.from({ length: callers }, async () => {
      while (!isOver()) {
        const sentMs = performance.now();
        if ((await call()) !== FAILED) latencies.push(performance.now() - sentMs);
      }
    }),
  );
  const tookMs = performance.now() - startedMs;
  latencies.sort((a, b) => a - b);
  const at = (share: number) => latencies[Math.floor((latencies.length - 1) * share)] ?? 0;
  return {
    perSecond: (latencies.length * weight * 1000) / tookMs,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
  };
}

/** As `rateUntil`, for a while. */
export function rateFor(
  durationMs: number,
  callers: number,
  weight: number,
  call: () => Promise<unknown>,
): Promise<Rate> {
  const endMs = performance.now() + durationMs;
  return rateUntil(callers, weight, call, () => performance.now() >= endMs);
}

/** A hold of one message. */
export function holdOf(tenantId: string) {
  const reservationId = newId("reservation");
  const messageId = newId("message");
  return {
    tenantId,
    reservationId,
    amount: 40_000n,
    messageCount: 1,
    firstMessageId: messageId,
    lastMessageId: messageId,
  };
}

/** Places single holds, going round the wallets. */
export function placeOne(client: WalletClient, ...tenantIds: readonly string[]) {
  let turn = 0;
  return () => {
    turn = (turn + 1) % tenantIds.length;
    return client.placeHold(holdOf(tenantIds[turn] ?? ""));
  };
}

/** Places holds of one wallet, `size` in a call. */
export const placeMany = (client: WalletClient, tenantId: string, size: number) => async () => {
  const { outcomes } = await client.placeHolds({
    holds: Array.from({ length: size }, () => holdOf(tenantId)),
  });
  if (outcomes.some(({ errorCode }) => errorCode !== "")) throw new Error("a hold was refused");
};

/** A wallet with more money than a benchmark can hold. */
export async function newTenant(client: WalletClient): Promise<string> {
  const tenantId = newId("tenant");
  await client.createWallet({ tenantId, currency: "NGN" });
  await client.fundWallet({ tenantId, amount: 10n ** 15n, reference: "bench", actor: ACTOR });
  return tenantId;
}
