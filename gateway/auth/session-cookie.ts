import type { IncomingHttpHeaders } from "node:http";

/**
 * The cookie of a console session. The prefix `__Host-` makes browsers refuse one that another host or a plain
 * connection has set (RFC 6265bis section 4.1.3.2), so another host of the domain cannot replace a session.
 */
const NAME = "__Host-sms_session";

const SECRET = /^ses_[A-Za-z0-9_-]{43}$/;

/** The session's secret in the `Cookie` header; undefined for none. */
export function sessionSecret(headers: IncomingHttpHeaders): string | undefined {
  const value = readCookie(headers, NAME);
  return value !== undefined && SECRET.test(value) ? value : undefined;
}

/** The value of a cookie: the first one of that name. */
export function readCookie({ cookie }: IncomingHttpHeaders, name: string): string | undefined {
  if (cookie === undefined || !cookie.includes(name)) return undefined;
  for (const pair of cookie.split(";")) {
    const at = pair.indexOf("=");
    if (pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim();
  }
  return undefined;
}

/** The `Set-Cookie` header of a new session. Scripts cannot read it, and other sites' requests do not carry it. */
export function sessionCookie(secret: string, lifetimeMs: number): string {
  const seconds = Math.max(0, Math.floor(lifetimeMs / 1000));
  return `${NAME}=${secret}; Path=/; Max-Age=${seconds}; Secure; HttpOnly; SameSite=Strict`;
}

/** The `Set-Cookie` header that removes it. */
export const NO_SESSION_COOKIE = sessionCookie("", 0);
