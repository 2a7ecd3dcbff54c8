/**
 * A server's goodbye. A server that closes an idle connection right after its GOAWAY may close it
 * upon a request that was on its way: the request meets a closed socket, its caller cannot know
 * whether it was handled, and must report a failure. So the goodbye has two steps, as RFC 9113
 * section 6.8 has it: first a GOAWAY that still allows every stream, after which callers go
 * elsewhere, and only then, when what was on its way has come in, the real end.
 */
import { constants, type Http2Server, type ServerHttp2Session } from "node:http2";
import type { Server } from "@grpc/grpc-js";

/** The highest stream id there is: nothing on its way is refused. */
const EVERY_STREAM = 2 ** 31 - 1;

/** Much longer than one way on any network that services share. */
const ON_ITS_WAY_MS = 250;

/** What grpc-js keeps under these names and does not show; its version is pinned, and a test would tell. */
type Inside = {
  readonly http2Servers: ReadonlyMap<
    Http2Server,
    { readonly sessions: ReadonlySet<ServerHttp2Session> }
  >;
};

/** The listening servers inside a gRPC server. */
export function listenersOf(server: Server): Iterable<Http2Server> {
  return (server as unknown as Inside).http2Servers.keys();
}

/** Takes no new connections, asks callers to leave, and waits for what they had sent before. */
export async function sendGoaway(server: Server): Promise<void> {
  const { http2Servers } = server as unknown as Inside;
  for (const listener of listenersOf(server)) listener.maxConnections = 0;
  const sessions = [...http2Servers.values()].flatMap((entry) => [...entry.sessions]);
  const open = sessions.filter((session) => !session.closed && !session.destroyed);
  if (open.length === 0) return;
  for (const session of open) session.goaway(constants.NGHTTP2_NO_ERROR, EVERY_STREAM);
  await new Promise((resolve) => setTimeout(resolve, ON_ITS_WAY_MS));
}
