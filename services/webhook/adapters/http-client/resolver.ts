import { Resolver } from "node:dns/promises";
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { pause } from "../../../shared/flow/backoff.ts";

/** Resolves a host name to addresses. */
export type ResolveHost = (host: string) => Promise<readonly string[]>;

const HOSTS_FILE = "/etc/hosts";
/** How long to wait for IPv6 addresses after the IPv4 response. */
const IPV6_WAIT_MS = 500;
const LOOPBACK = ["127.0.0.1", "::1"] as const;

/**
 * Replaces the system's `getaddrinfo`, which runs on four threads for the whole process: a few
 * names with silent servers would block every lookup. Order: names under `localhost` are loopback
 * (RFC 6761 section 6.3), then the hosts file, then DNS. Names are complete: no search list.
 * Rejects when the name has no address. `timeoutMs` limits one query; c-ares starts with a shorter
 * limit after fast responses, and tries four times.
 */
export function createResolver(options: {
  readonly servers: readonly string[];
  readonly timeoutMs: number;
}): ResolveHost {
  const { timeoutMs } = options;
  const resolver = new Resolver({ timeout: timeoutMs, maxTimeout: timeoutMs, tries: 4 });
  if (options.servers.length > 0) resolver.setServers([...options.servers]);

  return async (host) => {
    if (host === "localhost" || host.endsWith(".localhost")) return LOOPBACK;
    const known = await findInHostsFile(host);
    if (known.length > 0) return known;
    return mergeAddresses(resolver.resolve4(host), resolver.resolve6(host));
  };
}

/**
 * The addresses of both families, or IPv4 alone when IPv6 gets no response: some servers drop
 * unknown queries. IPv6 is not returned alone early, because many hosts cannot reach it. Rejects
 * when there is no address.
 */
async function mergeAddresses(v4: Promise<string[]>, v6: Promise<string[]>): Promise<string[]> {
  const answers: string[][] = [];
  const both = Promise.allSettled(
    [v4, v6].map(async (query, at) => {
      answers[at] = await query;
    }),
  );
  const enough = new AbortController();
  const ipv4Only = v4.then(
    () => pause(IPV6_WAIT_MS, enough.signal),
    () => both,
  );
  await Promise.race([both, ipv4Only]);
  enough.abort();
  const found = answers.flat();
  if (found.length > 0) return found;
  throw new Error("the name has no address", { cause: await v4.catch((error) => error) });
}

async function findInHostsFile(host: string): Promise<string[]> {
  const content = await readFile(HOSTS_FILE, "utf8").catch(() => "");
  return content.split("\n").flatMap((line) => {
    const [address = "", ...names] = (line.split("#", 1)[0] ?? "").trim().split(/\s+/);
    return isIP(address) !== 0 && names.includes(host) ? [address] : [];
  });
}
