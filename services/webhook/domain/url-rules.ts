/**
 * Rules for an endpoint's URL (`docs/contract.md#webhook-endpoints`): HTTPS, an allowed port, a
 * host name and not an IP address in any spelling, no credentials. The addresses of the name are
 * checked at each connection.
 */

/** The parts of a valid URL that a request needs. */
export type Target = {
  /** Lower case, punycode for international names. */
  readonly host: string;
  readonly port: number;
  /** Path and query. */
  readonly path: string;
};

/** Longest URL, in characters. */
const URL_LENGTH_MAX = 2048;

const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;
const HOST_LENGTH_MAX = 253;

/** Parses a URL; `undefined` when it breaks a rule. */
export function readTarget(url: string, allowedPorts: readonly number[]): Target | undefined {
  // The WHATWG parser accepts tabs, line breaks, backslashes and missing slashes; these rules do
  // not.
  if (url.length > URL_LENGTH_MAX || !/^https:\/\/[^/]/i.test(url)) return undefined;
  if (hasForbiddenCharacter(url)) return undefined;
  const authority = /^https:\/\/([^/?#]*)/i.exec(url)?.[1] ?? "";
  if (authority.includes("@") || authority.includes("%")) return undefined;
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    return undefined;
  }
  if (parsed.protocol !== "https:" || parsed.username !== "" || parsed.password !== "") {
    return undefined;
  }
  const port = parsed.port === "" ? 443 : Number(parsed.port);
  if (!allowedPorts.includes(port) || !isHostName(parsed.hostname)) return undefined;
  return { host: parsed.hostname, port, path: parsed.pathname + parsed.search };
}

/**
 * Whether a host is a name of DNS labels. The parser has already turned every spelling of an IPv4
 * address (octal, hexadecimal, one number, full-width digits) into four decimal numbers, and
 * refused other names whose last label is a number (WHATWG URL section 3.5, "ends in a number").
 */
function isHostName(host: string): boolean {
  if (host.length > HOST_LENGTH_MAX || host.startsWith("[")) return false;
  const labels = host.split(".");
  const last = labels.at(-1) ?? "";
  if (/^(?:\d+|0x[0-9a-f]*)$/.test(last)) return false;
  return labels.every((label) => LABEL.test(label));
}

function hasForbiddenCharacter(url: string): boolean {
  for (const character of url) {
    const code = character.codePointAt(0) ?? 0;
    if (code <= 0x20 || code === 0x5c || (code >= 0x7f && code <= 0xa0)) return true;
  }
  return false;
}
