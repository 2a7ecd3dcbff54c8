import ipaddr from "ipaddr.js";

/**
 * True for an IP address or a CIDR. IPv4 needs four decimal parts: parsers read `010.0.0.1` and `10/8` as other
 * networks than they seem to be.
 */
export function isNetwork(text: string): boolean {
  const { IPv4, IPv6 } = ipaddr;
  if (!text.includes(":")) {
    return IPv4.isValidFourPartDecimal(text) || IPv4.isValidCIDRFourPartDecimal(text);
  }
  return !text.includes("%") && (IPv6.isValid(text) || IPv6.isValidCIDR(text));
}
