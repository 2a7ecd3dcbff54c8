/** Headers of the deprecated send path (`docs/contract.md#versioning`; RFC 8594 for Sunset). */
export function deprecationHeaders(docsUrl: string): Record<string, string> {
  return {
    Deprecation: "true",
    Sunset: "Thu, 15 Apr 2027 23:59:59 GMT",
    Link: `<${docsUrl}/api/migrations/send-endpoint>; rel="deprecation"`,
  };
}
