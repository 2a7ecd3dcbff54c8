/**
 * What: a graceful GOAWAY in two steps, as RFC 9113 section 6.8 describes.
 * Why: grpc-js closes an idle connection right after its GOAWAY. A request that is in transit then meets a closed
 * socket; its caller cannot know whether it was handled and must report a failure. So the server first sends
 * a GOAWAY that still allows every stream, waits for requests in transit, and then closes.
 * Upstream: no issue known.
 * Tried with: @grpc/grpc-js 1.14.7 (`Server.http2Servers`).
 * Tests: `test/integration/rpc/lifecycle.test.ts`, `test/unit/vendor/private-parts.test.ts`.
 */
import { constants, type Http2Server, type ServerHttp2Session } from "node:http2";
import type { Server } from "@grpc/grpc-js";
import { pause } from "../flow/backoff.ts";

/** The highest stream id: the server refuses no request in transit. */
const LAST_STREAM_ID = 2 ** 31 - 1;

/** Time for requests in transit to arrive, in milliseconds; far above one way between services. */
const TRANSIT_MS = 250;

type Private = {
  readonly http2Servers: ReadonlyMap<
    Http2Server,
    { readonly sessions: ReadonlySet<ServerHttp2Session> }
  >;
};

/** The listening HTTP/2 servers inside a gRPC server. */
export function listenersOf(server: Server): Iterable<Http2Server> {
  return (server as unknown as Private).http2Servers.keys();
}

/** Accepts no new connections, asks clients to leave, and waits for their requests in transit. */
export async function sendGoaway(server: Server): Promise<void> {
  const { http2Servers } = server as unknown as Private;
  for (const listener of listenersOf(server)) listener.maxConnections = 0;
  const sessions = [...http2Servers.values()].flatMap((entry) => [...entry.sessions]);
  const open = sessions.filter((session) => !session.closed && !session.destroyed);
  if (open.length === 0) return;
  for (const session of open) session.goaway(constants.NGHTTP2_NO_ERROR, LAST_STREAM_ID);
  await pause(TRANSIT_MS);
}
