import type { IncomingMessage } from "node:http";

/** The body of a request; undefined for one that is longer than `bytesMax`, whose rest is not read. */
export async function readBody(
  request: IncomingMessage,
  bytesMax: number,
): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bytesMax) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
