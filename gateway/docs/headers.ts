import type { HeaderName } from "./operation-doc.ts";

/** Response headers of the API, as OpenAPI header objects. */
export const HEADERS = {
  "X-Request-Id": {
    description: "Identifies the request; equals `request_id` in problems.",
    required: true,
    schema: { type: "string", pattern: "^req_[0-9A-HJKMNP-TV-Z]{26}$" },
  },
  "Cache-Control": {
    description: "Responses are never cached.",
    required: true,
    schema: { type: "string", const: "no-store" },
  },
  "RateLimit-Limit": {
    description: "Requests per second that the account may sustain.",
    required: true,
    schema: { type: "integer", minimum: 1 },
  },
  "RateLimit-Remaining": {
    description:
      "Whole tokens left in the bucket. A request takes one for each started 128 KiB of its body.",
    required: true,
    schema: { type: "integer", minimum: 0 },
  },
  "RateLimit-Reset": {
    description: "Seconds until the bucket is full again.",
    required: true,
    schema: { type: "integer", minimum: 0 },
  },
  "Retry-After": {
    description: "Seconds to wait before a retry.",
    required: true,
    schema: { type: "integer", minimum: 1 },
  },
  Location: {
    description: "Path of the created resource.",
    required: true,
    schema: { type: "string" },
  },
  "Idempotent-Replayed": {
    description: "`true` when this is the stored first response of the Idempotency-Key.",
    required: false,
    schema: { type: "string", const: "true" },
  },
  Deprecation: {
    description: "This path is deprecated.",
    required: true,
    schema: { type: "string", const: "true" },
  },
  Sunset: {
    description: "After this HTTP-date the path may be removed (RFC 8594).",
    required: true,
    schema: { type: "string" },
  },
  Link: {
    description: 'The migration page, with `rel="deprecation"`.',
    required: true,
    schema: { type: "string" },
  },
  "WWW-Authenticate": {
    description: "How to authenticate.",
    required: true,
    schema: { type: "string", const: "Bearer" },
  },
} as const;

/** Headers of every response that comes after the rate limit. */
export const RATE_LIMIT = ["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"] as const;

/**
 * The headers of a response, with those that every response has. Those of `atTimes` are optional, even if their
 * component is required.
 */
export function responseHeaders(
  always: readonly HeaderName[],
  atTimes: readonly HeaderName[] = [],
) {
  const all = ["X-Request-Id", "Cache-Control", ...always];
  const required = all.map((name) => [name, { $ref: `#/components/headers/${name}` }] as const);
  const optional = atTimes.map((name) => [name, { ...HEADERS[name], required: false }] as const);
  return Object.fromEntries([...required, ...optional]);
}
