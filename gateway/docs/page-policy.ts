/** Content security policies of pages: everything comes from this origin, and no script is inline. */
const OWN = [
  "default-src 'none'",
  "script-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
];

/** Scalar sets style attributes and adds style elements; their text is not known beforehand. */
const REFERENCE_STYLE = "style-src 'self' 'unsafe-inline'";

/**
 * The policy of a page. The reference may also call the API at its public address, so that requests can be tried from
 * it if the documentation has an origin of its own.
 */
export function pagePolicy(path: string, baseUrl: string): string {
  if (path !== "/reference") return [...OWN, "style-src 'self'"].join("; ");
  const own = baseUrl === "/" ? OWN : OWN.map((rule) => withOrigin(rule, new URL(baseUrl).origin));
  return [...own, REFERENCE_STYLE].join("; ");
}

function withOrigin(rule: string, origin: string): string {
  return rule.startsWith("connect-src") ? `${rule} ${origin}` : rule;
}
