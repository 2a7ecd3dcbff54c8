import type { Context } from "koa";

/** Sets what a browser needs to read an answer; nothing unless the origin is configured. */
export type Cors = (context: Context, allow: string | undefined) => void;

const EXPOSED = [
  "X-Request-Id",
  "RateLimit-Limit",
  "RateLimit-Remaining",
  "RateLimit-Reset",
  "Retry-After",
  "Location",
  "Idempotent-Replayed",
  "Deprecation",
  "Sunset",
  "Link",
].join(", ");

/** How long a browser may keep a preflight's answer, in seconds. */
const PREFLIGHT_S = "600";

/**
 * Cross-origin reads (WHATWG Fetch, "CORS protocol") for the named origins. An API key in a
 * browser is a key given away, so without configuration no origin is allowed. With `allow` (the
 * methods of the path) the answer is one to a preflight.
 */
export function createCors(origins: readonly string[]): Cors {
  if (origins.length === 0) return () => undefined;
  const allowed = new Set(origins);
  return (context, allow) => {
    context.vary("Origin");
    const origin = context.req.headers.origin;
    if (origin === undefined || !allowed.has(origin)) return;
    context.set("Access-Control-Allow-Origin", origin);
    context.set("Access-Control-Expose-Headers", EXPOSED);
    if (allow === undefined) return;
    context.set("Access-Control-Allow-Methods", allow);
    context.set("Access-Control-Allow-Headers", "Authorization, Content-Type, Idempotency-Key");
    context.set("Access-Control-Max-Age", PREFLIGHT_S);
  };
}
