import { Resolver } from "node:dns/promises";
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { pause } from "../../../shared/flow/backoff.ts";

/** Finds the addresses of a host name. */
export type ResolveHost = (host: string) => Promise<readonly string[]>;

const HOSTS_FILE = "/etc/hosts";
/** How long the answer for IPv6 is awaited once that for IPv4 is there. */
const IPV6_WAIT_MS = 500;
const LOOPBACK = ["127.0.0.1", "::1"] as const;

/**
 * A resolver of its own instead of the system's `getaddrinfo`: that one runs on four threads for
 * the whole process, so a few names whose servers hang would hold up everyone. Order: names under
 * `localhost` are loopback (RFC 6761 section 6.3), then the hosts file, then DNS. Names are complete: no search list.
 * Rejects when the name has no address. `timeoutMs` is that of one question, which begins with much less
 * where answers have been quick lately, and is asked four times.
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
 * The addresses of both families, or of IPv4 alone if IPv6 is not answered for: servers that drop what they do
 * not know are no reason to connect to nothing. Not the other way round: many a host of ours has no IPv6.
 * Rejects when there is none.
 */
async function mergeAddresses(v4: Promise<string[]>, v6: Promise<string[]>): Promise<string[]> {
  const answers: string[][] = [];
  const both = Promise.allSettled(
    [v4, v6].map(async (question, at) => {
      answers[at] = await question;
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
