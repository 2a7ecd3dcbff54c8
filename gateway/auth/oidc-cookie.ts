import type { IncomingHttpHeaders } from "node:http";
import { readCookie } from "../../services/shared/web/session-cookie.ts";

/**
 * The cookie of a browser that is at the OpenID Connect provider. The provider's page sends the browser back, so it is
 * `SameSite=Lax`; it is good for nothing but to end the sign-in that this browser began.
 */
const NAME = "__Host-sms_oidc";

const SECRET = /^oid_[A-Za-z0-9_-]{43}$/;
const LIFETIME_S = 600;

/** The secret in the `Cookie` header; undefined for none. */
export function oidcSecret(headers: IncomingHttpHeaders): string | undefined {
  const value = readCookie(headers, NAME);
  return value !== undefined && SECRET.test(value) ? value : undefined;
}

/** The `Set-Cookie` header of a sign-in that begins. */
export function oidcCookie(secret: string): string {
  return cookie(secret, LIFETIME_S);
}

function cookie(value: string, seconds: number): string {
  return `${NAME}=${value}; Path=/; Max-Age=${seconds}; Secure; HttpOnly; SameSite=Lax`;
}

/** The `Set-Cookie` header that removes it. */
export const NO_OIDC_COOKIE = cookie("", 0);
