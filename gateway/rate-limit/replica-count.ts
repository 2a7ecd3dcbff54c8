/** How many gateways share the rate limits, by asking DNS for a name with one address for each. */
import { Resolver } from "node:dns/promises";
import type { Logger } from "../../services/shared/core/logger.ts";
import { startLoop } from "../../services/shared/flow/periodic.ts";

/** The gateways that DNS knew at an instant. */
export type Seen = { readonly count: number; readonly atMs: number };

/** Counts the addresses of a name; rejects when it cannot be told, and when the signal is aborted. */
export type CountAddresses = (host: string, signal: AbortSignal) => Promise<number>;

/** The number of gateways as it is known now. */
export type ReplicaCount = { count(): number; close(): Promise<void> };

const DNS_INTERVAL_MS = 5000;
/** A name server that is away for less changes nothing. */
const COUNT_VALID_MS = 60_000;
/** c-ares waits longer for the second answer than for the first. */
const QUESTION_TIMEOUT_MS = 1000;
const QUESTION_TRIES = 2;

/** Those that DNS has known of late; while it knows none, as before this one is ready, the number that was set. */
export function replicasOf(seen: Seen | undefined, set: number, nowMs: number): number {
  if (seen === undefined || seen.count === 0) return set;
  return nowMs - seen.atMs < COUNT_VALID_MS ? seen.count : set;
}

/** Looks the name up every few seconds until closed. Without a name the number that was set stands. */
export function watchReplicas(options: {
  /** Empty for none. */
  readonly peers: string;
  readonly set: number;
  readonly log: Logger;
  readonly countAddresses?: CountAddresses;
  readonly intervalMs?: number;
}): ReplicaCount {
  const {
    peers,
    set,
    log,
    countAddresses = countDnsAddresses,
    intervalMs = DNS_INTERVAL_MS,
  } = options;
  if (peers === "") return { count: () => set, close: async () => {} };
  let seen: Seen | undefined;
  const loop = startLoop({
    name: "gateway replicas",
    intervalMs,
    log,
    async work(signal) {
      const count = await countAddresses(peers, signal);
      seen = { count, atMs: performance.now() };
      return false;
    },
  });
  return {
    count: () => replicasOf(seen, set, performance.now()),
    close: () => loop.close(),
  };
}

/**
 * Asks for both families with c-ares, which needs no thread, and answers the larger number: where there are both, each
 * gateway has one of each. A name that does not exist has no address; who does not answer for one family is
 * not waited for in vain.
 */
export async function countDnsAddresses(
  host: string,
  signal: AbortSignal,
  servers: readonly string[] = [],
): Promise<number> {
  signal.throwIfAborted();
  const resolver = new Resolver({ timeout: QUESTION_TIMEOUT_MS, tries: QUESTION_TRIES });
  if (servers.length > 0) resolver.setServers([...servers]);
  const cancel = () => resolver.cancel();
  signal.addEventListener("abort", cancel, { once: true });
  try {
    const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    const counts = answers.map((one) => (one.status === "fulfilled" ? one.value.length : 0));
    const fault = answers.find((one) => one.status === "rejected" && !isNone(one.reason));
    if (Math.max(...counts) === 0 && fault?.status === "rejected") throw fault.reason;
    return Math.max(...counts);
  } finally {
    signal.removeEventListener("abort", cancel);
  }
}

function isNone(error: unknown): boolean {
  return error instanceof Error && "code" in error && /^(ENOTFOUND|ENODATA)$/.test(`${error.code}`);
}
