import { isIPv6, type LookupFunction } from "node:net";
import { setRecent } from "../../../shared/flow/lru.ts";
import { isAllowedAddress, type Network } from "../../domain/address-rules.ts";
import type { ResolveHost } from "./resolver.ts";

/** Thrown when a name leads, even in part, where a webhook must not go. */
export class AddressNotAllowedError extends Error {
  override readonly name = "AddressNotAllowedError";
  readonly code = "ADDRESS_NOT_ALLOWED";
}

/** Checks where host names lead. */
export type SsrfGuard = {
  /** Answers the name's addresses, all of them allowed; rejects otherwise. */
  checkHost(host: string): Promise<readonly string[]>;
  /**
   * For sockets: connects only to addresses that were checked in this very lookup, so nothing can
   * change between the check and the connection.
   */
  readonly lookup: LookupFunction;
};

/** Shared for a while from its answer on; until then by all who ask. */
type Entry = { untilMs: number; readonly addresses: Promise<readonly string[]> };

const ENTRIES_MAX = 10_000;

/**
 * Makes the guard. One refused address refuses the name: a name that mixes public and private ones
 * is an attack or a mistake. Answers are shared for `cacheMs`; connections use the same
 * checked answers, so a name server that changes its mind gains nothing.
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
    throw new AddressNotAllowedError("the name leads to an address that is not public");
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
        // A failure is not kept: the next attempt asks again.
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
