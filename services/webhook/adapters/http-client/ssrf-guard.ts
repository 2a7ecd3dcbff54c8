import { isIPv6, type LookupFunction } from "node:net";
import { setRecent } from "../../../shared/flow/lru.ts";
import { isAllowedAddress, type Network } from "../../domain/address-rules.ts";
import type { ResolveHost } from "./resolver.ts";

/** Thrown when any address of a name is not allowed. */
export class AddressNotAllowedError extends Error {
  override readonly name = "AddressNotAllowedError";
  readonly code = "ADDRESS_NOT_ALLOWED";
}

/** Checks the addresses of host names. */
export type SsrfGuard = {
  /** Returns the addresses of the name; rejects if any of them is not allowed. */
  checkHost(host: string): Promise<readonly string[]>;
  /**
   * For sockets: connects only to addresses that this lookup has checked, so they cannot change
   * between check and connection.
   */
  readonly lookup: LookupFunction;
};

/** A cached response; until it arrives all callers share the query. */
type Entry = { untilMs: number; readonly addresses: Promise<readonly string[]> };

const ENTRIES_MAX = 10_000;

/**
 * One refused address refuses the name: a mix of public and private addresses is an attack or a
 * mistake. Responses are cached for `cacheMs`, and connections use the same checked addresses, so
 * DNS rebinding gains nothing.
 */
export function createSsrfGuard(options: {
  readonly resolve: ResolveHost;
  readonly allowedNetworks: readonly Network[];
  readonly cacheMs: number;
}): SsrfGuard {
  const cache = new Map<string, Entry>();

  async function check(host: string): Promise<readonly string[]> {
    const addresses = await options.resolve(host);
    if (addresses.every((address) => isAllowedAddress(address, options.allowedNetworks))) {
      return addresses;
    }
    throw new AddressNotAllowedError("the name has an address that is not public");
  }

  function checkHost(host: string): Promise<readonly string[]> {
    const nowMs = performance.now();
    const known = cache.get(host);
    if (known !== undefined && known.untilMs > nowMs) return known.addresses;
    const entry: Entry = { untilMs: Number.POSITIVE_INFINITY, addresses: check(host) };
    setRecent(cache, host, entry, ENTRIES_MAX);
    entry.addresses.then(
      () => {
        entry.untilMs = performance.now() + options.cacheMs;
      },
      () => {
        // A failure is not cached: the next attempt queries again.
        if (cache.get(host) === entry) cache.delete(host);
      },
    );
    return entry.addresses;
  }

  const lookup: LookupFunction = (host, lookupOptions, callback) => {
    checkHost(host).then(
      (addresses) => {
        const all = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
        if (lookupOptions.all === true) return callback(null, all);
        const [first] = all;
        return callback(null, first?.address ?? "", first?.family ?? 4);
      },
      (error: NodeJS.ErrnoException) => callback(error, ""),
    );
  };

  return { checkHost, lookup };
}
