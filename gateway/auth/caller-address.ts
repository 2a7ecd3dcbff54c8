import ipaddr from "ipaddr.js";

/** Whether an address is in one of the networks; IPv4-mapped IPv6 counts as IPv4. */
export type AddressMatcher = (address: string) => boolean;

type Network = [ipaddr.IPv4 | ipaddr.IPv6, number];

/** Compiles CIDRs and single addresses; throws on anything else. */
export function compileNetworks(texts: readonly string[]): AddressMatcher {
  const networks = texts.map(parseNetwork);
  return (address) => {
    if (!ipaddr.isValid(address)) return false;
    const parsed = ipaddr.process(address);
    return networks.some(
      ([network, bits]) => network.kind() === parsed.kind() && parsed.match(network, bits),
    );
  };
}

function parseNetwork(text: string): Network {
  if (!text.includes("/")) {
    const address = ipaddr.process(text);
    return [address, address.kind() === "ipv4" ? 32 : 128];
  }
  const [address, bits] = ipaddr.parseCIDR(text);
  if (address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() && bits >= 96) {
    return [address.toIPv4Address(), bits - 96];
  }
  return [address, bits];
}

/**
 * The caller's address. It is the socket's, unless the peer is a trusted proxy: then it is the last entry of
 * `X-Forwarded-For` that is not a trusted proxy. If all entries are trusted it is the first, a client inside the
 * proxies' network. Entries left of an untrusted one are written by the client and are ignored.
 */
export function callerAddress(
  peer: string,
  forwardedFor: string | undefined,
  isTrustedProxy: AddressMatcher,
): string {
  if (forwardedFor === undefined || !isTrustedProxy(peer)) return peer;
  const hops = forwardedFor.split(",").map((hop) => hop.trim());
  let first = peer;
  for (const hop of hops.reverse()) {
    const address = hop
      .replace(/^\[(.*)\](?::\d+)?$/, "$1")
      .replace(/^(\d+(?:\.\d+){3}):\d+$/, "$1");
    if (!ipaddr.isValid(address)) return peer;
    if (!isTrustedProxy(address)) return address;
    first = address;
  }
  return first;
}

/**
 * The network of one client: an IPv4 address, or the /64 of an IPv6 address (RFC 6177). Text that is no address
 * is returned as it is.
 */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed instanceof ipaddr.IPv6 ? parsed.parts.slice(0, 4).join(":") : parsed.toString();
}
