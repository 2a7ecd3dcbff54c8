/** Counts the gateways that share the rate limits, from a DNS name with one address for each gateway. */
import { Resolver } from "node:dns/promises";
import type { Logger } from "../../services/shared/core/logger.ts";
import { startLoop } from "../../services/shared/flow/periodic.ts";

/** A successful DNS count and its time. */
export type AddressCount = { readonly count: number; readonly atMs: number };

/** Counts the addresses of a name; rejects when DNS fails, and when the signal is aborted. */
export type CountAddresses = (host: string, signal: AbortSignal) => Promise<number>;

/** The current number of gateways. */
export type ReplicaCount = { count(): number; close(): Promise<void> };

const DNS_INTERVAL_MS = 5000;
/** How long a count stays valid: a shorter outage of the name server changes nothing. */
const COUNT_VALID_MS = 60_000;
/** Timeout of the first DNS try; c-ares waits longer for the second. */
const QUERY_TIMEOUT_MS = 1000;
const QUERY_TRIES = 2;

/** The last valid count; without one, or when DNS lists none (as before this gateway is ready), `fallback`. */
export function replicasOf(
  last: AddressCount | undefined,
  fallback: number,
  nowMs: number,
): number {
  if (last === undefined || last.count === 0) return fallback;
  return nowMs - last.atMs < COUNT_VALID_MS ? last.count : fallback;
}

/** Queries DNS periodically until closed. Without a name the count is always `fallback`. */
export function watchReplicas(options: {
  /** The DNS name; empty for none. */
  readonly peers: string;
  readonly fallback: number;
  readonly log: Logger;
  readonly countAddresses?: CountAddresses;
  readonly intervalMs?: number;
}): ReplicaCount {
  const { peers, fallback, log } = options;
  const { countAddresses = countDnsAddresses, intervalMs = DNS_INTERVAL_MS } = options;
  if (peers === "") return { count: () => fallback, close: async () => {} };
  let last: AddressCount | undefined;
  const loop = startLoop({
    name: "gateway replicas",
    intervalMs,
    log,
    async work(signal) {
      const count = await countAddresses(peers, signal);
      last = { count, atMs: performance.now() };
      return false;
    },
  });
  return {
    count: () => replicasOf(last, fallback, performance.now()),
    close: () => loop.close(),
  };
}

/**
 * Queries A and AAAA records with c-ares, which needs no thread, and returns the larger number: on dual stack each
 * gateway has one of each. A name that does not exist has no addresses. A family that fails is ignored when the
 * other one has addresses.
 */
export async function countDnsAddresses(
  host: string,
  signal: AbortSignal,
  servers: readonly string[] = [],
): Promise<number> {
  signal.throwIfAborted();
  const resolver = new Resolver({ timeout: QUERY_TIMEOUT_MS, tries: QUERY_TRIES });
  if (servers.length > 0) resolver.setServers([...servers]);
  const cancel = () => resolver.cancel();
  signal.addEventListener("abort", cancel, { once: true });
  try {
    const results = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    const counts = results.map((one) => (one.status === "fulfilled" ? one.value.length : 0));
    const fault = results.find((one) => one.status === "rejected" && !isNoAddress(one.reason));
    if (Math.max(...counts) === 0 && fault?.status === "rejected") throw fault.reason;
    return Math.max(...counts);
  } finally {
    signal.removeEventListener("abort", cancel);
  }
}

function isNoAddress(error: unknown): boolean {
  return error instanceof Error && "code" in error && /^(ENOTFOUND|ENODATA)$/.test(`${error.code}`);
}
