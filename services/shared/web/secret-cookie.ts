import type { IncomingHttpHeaders } from "node:http";

/** A cookie that holds a secret, such as that of a session. */
export type SecretCookie = {
  /** The secret in the `Cookie` header; undefined for none. */
  secretIn(headers: IncomingHttpHeaders): string | undefined;
  /** The `Set-Cookie` header of a new secret. */
  header(secret: string, lifetimeMs: number): string;
  /** The `Set-Cookie` header that removes it. */
  readonly removal: string;
};

/**
 * Makes the cookie of that name, whose secrets begin with the prefix. The name begins with `__Host-`: browsers refuse
 * one that another host or a plain connection has set (RFC 6265bis section 4.1.3.2), so another host of the
 * domain cannot replace a secret. Scripts cannot read the cookie. Other sites' requests do not carry a `Strict` one;
 * links of other sites carry a `Lax` one.
 */
export function createSecretCookie(
  name: `__Host-${string}`,
  prefix: string,
  sameSite: "Strict" | "Lax" = "Strict",
): SecretCookie {
  const form = new RegExp(`^${prefix}_[A-Za-z0-9_-]{43}$`);
  const header = (secret: string, lifetimeMs: number) => {
    const seconds = Math.max(0, Math.floor(lifetimeMs / 1000));
    return `${name}=${secret}; Path=/; Max-Age=${seconds}; Secure; HttpOnly; SameSite=${sameSite}`;
  };
  return {
    secretIn(headers) {
      const value = readCookie(headers, name);
      return value !== undefined && form.test(value) ? value : undefined;
    },
    header,
    removal: header("", 0),
  };
}

/** The value of a cookie: the first one of that name. */
function readCookie({ cookie }: IncomingHttpHeaders, name: string): string | undefined {
  if (cookie === undefined || !cookie.includes(name)) return undefined;
  for (const pair of cookie.split(";")) {
    const at = pair.indexOf("=");
    if (pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim();
  }
  return undefined;
}
