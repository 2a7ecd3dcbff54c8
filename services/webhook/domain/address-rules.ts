/**
 * Allowed addresses of webhooks: public unicast only. The tables are the special-purpose registries
 * of IANA (RFC 6890 and its successors) and the public-looking metadata addresses of clouds. IPv6
 * addresses that embed an IPv4 address (mapped, NAT64, 6to4, Teredo) are refused: an unknown
 * translator decides their destination.
 */
import ipaddr from "ipaddr.js";

/** A network as its first bytes and its prefix length. */
export type Network = { readonly bytes: readonly number[]; readonly bits: number };

const REFUSED_IPV4 = [
  "0.0.0.0/8", // "This network", RFC 791 section 3.2
  "10.0.0.0/8", // private use, RFC 1918
  "100.64.0.0/10", // carrier-grade NAT, RFC 6598; Alibaba metadata 100.100.100.200
  "127.0.0.0/8", // loopback, RFC 1122 section 3.2.1.3
  "168.63.129.16/32", // Azure's platform address, answered inside its virtual networks
  "169.254.0.0/16", // link-local, RFC 3927; metadata 169.254.169.254
  "172.16.0.0/12", // private use, RFC 1918
  "192.0.0.0/24", // IETF protocol assignments, RFC 6890; Oracle metadata 192.0.0.192
  "192.0.2.0/24", // documentation, RFC 5737
  "192.31.196.0/24", // AS112-v4, RFC 7535
  "192.52.193.0/24", // AMT relays, RFC 7450
  "192.88.99.0/24", // 6to4 relays, RFC 7526
  "192.168.0.0/16", // private use, RFC 1918
  "192.175.48.0/24", // AS112, RFC 7534
  "198.18.0.0/15", // benchmarking, RFC 2544
  "198.51.100.0/24", // documentation, RFC 5737
  "203.0.113.0/24", // documentation, RFC 5737
  "224.0.0.0/4", // multicast, RFC 5771
  "240.0.0.0/4", // reserved and broadcast, RFC 1112 section 4 and RFC 919
].map(parseNetwork);

/** Global unicast is allocated only from this block (RFC 4291 section 2.4, IANA registry). */
const GLOBAL_IPV6 = parseNetwork("2000::/3");

const REFUSED_IPV6 = [
  "2001::/23", // protocol assignments, RFC 2928: Teredo, benchmarking, ORCHID
  "2001:db8::/32", // documentation, RFC 3849
  "2002::/16", // 6to4, RFC 3056: carries an IPv4 address
  "2620:4f:8000::/48", // AS112, RFC 7534
  "3ffe::/16", // the returned 6bone, RFC 3701
  "3fff::/20", // documentation, RFC 9637
].map(parseNetwork);

/** Parses a CIDR such as `10.0.0.0/8`, or an address; throws an `Error` for anything else. */
export function parseNetwork(text: string): Network {
  if (text.includes("/")) {
    const [address, bits] = ipaddr.parseCIDR(text);
    return { bytes: address.toByteArray(), bits };
  }
  const bytes = ipaddr.parse(text).toByteArray();
  return { bytes, bits: 8 * bytes.length };
}

/**
 * Whether a webhook may be sent to this address. `allowed` are networks that the operator exempts;
 * an exemption for IPv4 does not cover IPv6 forms of it.
 */
export function isAllowedAddress(address: string, allowed: readonly Network[] = []): boolean {
  const bytes = parseAddress(address);
  if (bytes === undefined) return false;
  if (allowed.some((network) => contains(network, bytes))) return true;
  if (bytes.length === 4) return !REFUSED_IPV4.some((network) => contains(network, bytes));
  return contains(GLOBAL_IPV6, bytes) && !REFUSED_IPV6.some((network) => contains(network, bytes));
}

/** The bytes of a plain address; undefined for a zone (`fe80::1%eth0`) or an unusual spelling. */
function parseAddress(address: string): number[] | undefined {
  if (address.includes("%")) return undefined;
  if (ipaddr.IPv4.isValidFourPartDecimal(address) || ipaddr.IPv6.isValid(address)) {
    return ipaddr.parse(address).toByteArray();
  }
  return undefined;
}

function contains(network: Network, bytes: readonly number[]): boolean {
  if (network.bytes.length !== bytes.length) return false;
  for (let bit = 0, at = 0; bit < network.bits; bit += 8, at += 1) {
    const counted = Math.min(8, network.bits - bit);
    const mask = (0xff << (8 - counted)) & 0xff;
    if ((((network.bytes[at] ?? 0) ^ (bytes[at] ?? 0)) & mask) !== 0) return false;
  }
  return true;
}
