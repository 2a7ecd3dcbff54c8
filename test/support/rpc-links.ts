/** Servers and transports for tests of the RPC layer, closed together. */
import type { Transport } from "@connectrpc/connect";
import { createLocalTransport } from "../../services/shared/rpc/local-transport.ts";
import type { Routes } from "../../services/shared/rpc/routes.ts";
import {
  createRpcServer,
  type RpcServer,
  type RpcServerOptions,
} from "../../services/shared/rpc/server.ts";
import {
  createGrpcJsTransport,
  type RpcTransport,
  type RpcTransportOptions,
} from "../../services/shared/rpc/transport.ts";

/** The links of a test; `close` closes all. */
export type RpcLinks = {
  serve(options: RpcServerOptions): Promise<{ server: RpcServer; port: number; target: string }>;
  connect(options: RpcTransportOptions): RpcTransport;
  close(): Promise<void>;
};

/** Opens nothing yet; call `close` after each test. */
export function createRpcLinks(): RpcLinks {
  const servers: RpcServer[] = [];
  const transports: RpcTransport[] = [];
  return {
    async serve(options) {
      const server = createRpcServer(options);
      servers.push(server);
      const port = await server.listen("127.0.0.1", 0);
      return { server, port, target: `127.0.0.1:${port}` };
    },
    connect(options) {
      const transport = createGrpcJsTransport({ maxReconnectMs: 200, ...options });
      transports.push(transport);
      return transport;
    },
    async close() {
      for (const transport of transports.splice(0)) transport.close();
      await Promise.all(servers.splice(0).map((server) => server.drain(0)));
    },
  };
}

/** The two transports to the same routes; callers must see no difference. */
export const RPC_KINDS: Record<
  string,
  (
    links: RpcLinks,
    options: Pick<RpcServerOptions, "routes" | "log" | "onCall">,
  ) => Promise<Transport>
> = {
  "over gRPC": async (links, options) => {
    const { target } = await links.serve(options);
    return links.connect({ target });
  },
  "in memory": async (_links, options) => createLocalTransport(options),
};

/** Routes are plain functions; this names their type where a test builds them inline. */
export function routesOf(routes: Routes): Routes {
  return routes;
}
