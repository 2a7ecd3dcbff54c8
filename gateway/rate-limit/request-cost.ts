/** Body bytes that one token pays for. A typical full batch (1,000 short texts) has about 200 KB and costs two. */
const BYTES_PER_TOKEN = 131_072;

/**
 * The tokens of a request: one for each started 128 KiB of its body, at least one. The tenant's burst is the upper
 * bound, so that a full bucket always admits the largest body.
 */
export function requestCost(bodyBytes: number, burst: number): number {
  return Math.min(Math.max(1, Math.ceil(bodyBytes / BYTES_PER_TOKEN)), Math.max(1, burst));
}
