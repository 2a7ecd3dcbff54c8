/** The addresses of a name that fit into its connect timeout. */
const ADDRESSES = 3;

/**
 * How long to try one address of a name (A and AAAA records) before the next one. Node's default of 500 ms never
 * reaches a server behind a longer round trip when the name has a second address that is silent or without a route.
 */
export function addressTimeoutMs(connectTimeoutMs: number): number {
  return Math.ceil(connectTimeoutMs / ADDRESSES);
}
