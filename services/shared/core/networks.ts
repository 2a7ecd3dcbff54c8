import ipaddr from "ipaddr.js";

/**
 * Whether a text is an address or a CIDR. IPv4 in four decimal parts only: `010.0.0.1` and `10/8` are read as other
 * networks than they look.
 */
export function isNetwork(text: string): boolean {
  const { IPv4, IPv6 } = ipaddr;
  if (!text.includes(":")) {
    return IPv4.isValidFourPartDecimal(text) || IPv4.isValidCIDRFourPartDecimal(text);
  }
  return !text.includes("%") && (IPv6.isValid(text) || IPv6.isValidCIDR(text));
}
