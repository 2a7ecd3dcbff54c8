import dns, { type LookupAddress } from "node:dns";
import type { LookupFunction } from "node:net";

/** The order in which a client tries the addresses of a name. */
export type AddressOrder = {
  /** The option `lookup` of a socket. */
  readonly lookup: LookupFunction;
  /** Names the current order, for `skip`. */
  readonly turn: number;
  /** Notes the address of a server that serves: the next connection begins with it. */
  prefer(address: string | undefined): void;
  /** Notes that an attempt in a turn reached no server: the next one begins one address later. */
  skip(turn: number): void;
};

/**
 * A client tries only some addresses within its connect timeout (`core/address-timeout.ts`), and the operating system
 * returns them in the same order each time. So a server behind several silent addresses, or behind one that accepts
 * connections and says nothing, is reached only when a later attempt begins with another address.
 */
export function createAddressOrder(): AddressOrder {
  let turn = 0;
  let preferred: string | undefined;

  function arrange(found: readonly LookupAddress[]): LookupAddress[] {
    const first = found.findIndex(({ address }) => address === preferred);
    const at = first >= 0 ? first : turn % found.length;
    return [...found.slice(at), ...found.slice(0, at)];
  }

  return {
    // A property of the module: tests replace it.
    lookup: (host, options, callback) =>
      dns.lookup(host, options, (error, found, family) => {
        if (error !== null || !Array.isArray(found)) return callback(error, found, family);
        callback(null, arrange(found));
      }),
    get turn() {
      return turn;
    },
    prefer(address) {
      preferred = address;
    },
    skip(of) {
      // Attempts that ran at once tried the same addresses.
      if (of !== turn) return;
      turn += 1;
      preferred = undefined;
    },
  };
}
