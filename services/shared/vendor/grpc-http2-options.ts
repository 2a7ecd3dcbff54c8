/**
 * What: a higher limit of stream resets on a gRPC server's connections.
 * Why: Node's HTTP/2 server closes a connection after 1,000 resets and then 33 a second (CVE-2023-44487). Every
 * cancelled or timed-out call is a reset, and a slow moment brings a thousand at once; closing the connection
 * would fail all other calls on it. Callers are our own services and concurrent work is bounded, so more
 * resets are safe. grpc-js has no option for these two settings of `http2.createServer`.
 * Upstream: no issue known.
 * Tried with: @grpc/grpc-js 1.14.7 (`Server.commonServerOptions`).
 * Tests: `test/unit/vendor/private-parts.test.ts`.
 */
import type { Server } from "@grpc/grpc-js";

/** Allows 20,000 stream resets at once and 5,000 a second. Call it before the server listens. */
export function allowStreamResets(server: Server): void {
  const http2Options: unknown = Reflect.get(server, "commonServerOptions");
  if (typeof http2Options !== "object" || http2Options === null) {
    throw new Error("this version of grpc-js keeps its HTTP/2 options elsewhere");
  }
  Object.assign(http2Options, { streamResetBurst: 20_000, streamResetRate: 5_000 });
}
