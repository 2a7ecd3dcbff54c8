import type { IncomingHttpHeaders } from "node:http";

/** The header that the console sends with each request; a form or an image of another site cannot send it. */
export const CONSOLE_HEADER = "sms-console";

const SAFE: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/**
 * Whether a request with a session's cookie comes from the console itself and not from another site's page (cross-site
 * request forgery). The cookie is `SameSite=Strict`; this does not rely on it. A change must have the console's header,
 * which other origins may not send without a CORS preflight that never permits it, and the console's own `Origin`.
 */
export function isFromConsole(
  method: string,
  headers: IncomingHttpHeaders,
  ownOrigin: string,
): boolean {
  const site = headers["sec-fetch-site"];
  if (site !== undefined && site !== "same-origin" && site !== "none") return false;
  if (SAFE.has(method)) return true;
  if (headers[CONSOLE_HEADER] !== "1") return false;
  const { origin, host } = headers;
  if (origin === undefined) return false;
  return origin === ownOrigin || URL.parse(origin)?.host === host;
}
