/** Divides a file into requests, each with its idempotency key. */
import { createHash } from "node:crypto";
import type { SendRow } from "./rows.ts";

/** Items and bytes of a request; the API takes 1,000 items and 4 MiB, which the member names share. */
const ITEMS_MAX = 1000;
const BYTES_MAX = 3_145_728;

/** The values that every request of a file shares. */
export type ChunkScope = {
  readonly from: string;
  readonly trafficClass: string | undefined;
  /** `--idempotency-key`: sends the same file once more under another word. */
  readonly word: string | undefined;
};

/** One request. */
export type Chunk = { readonly key: string; readonly rows: readonly SendRow[] };

/** The same file with the same options always gives the same chunks and keys. */
export function chunksOf(
  rows: readonly SendRow[],
  scope: ChunkScope,
  bounds: { readonly items: number; readonly bytes: number } = {
    items: ITEMS_MAX,
    bytes: BYTES_MAX,
  },
): Chunk[] {
  const groups: SendRow[][] = [];
  let bytes = 0;
  for (const row of rows) {
    const size = Buffer.byteLength(JSON.stringify(row.item)) + 1;
    const last = groups.at(-1);
    if (last === undefined || last.length === bounds.items || bytes + size > bounds.bytes) {
      groups.push([row]);
      bytes = size;
    } else {
      last.push(row);
      bytes += size;
    }
  }
  return groups.map((group) => ({ key: chunkKey(group, scope), rows: group }));
}

/**
 * The key is a hash of all that the request says: an interrupted send that is repeated finds what the first one
 * did, also when the answer was lost.
 */
function chunkKey(rows: readonly SendRow[], { from, trafficClass, word }: ChunkScope): string {
  const said = [from, trafficClass ?? null, word ?? null, rows.map(({ item }) => item)];
  return `csv-${createHash("sha256").update(JSON.stringify(said)).digest("base64url")}`;
}
