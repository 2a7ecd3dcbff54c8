import type { OperationResponse } from "../operations/operation.ts";

/** One page of a list as a CSV file. The header `Link` (RFC 8288) leads to the next page of the same query. */
export function csvPage(
  csv: string,
  nextCursor: string | null,
  path: string,
  query: string,
): OperationResponse {
  if (nextCursor === null) return { status: 200, csv };
  const parameters = new URLSearchParams(query);
  parameters.set("cursor", nextCursor);
  return { status: 200, csv, headers: { Link: `<${path}?${parameters}>; rel="next"` } };
}
