/**
 * The same methods in Connect's JSON form over HTTP/1.1, for people with curl on the ops port:
 * `curl -H 'content-type: application/json' -d '{"tenantId": "…"}' …/sms.v1.WalletService/GetWallet`.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Interceptor } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { createServerInterceptor, type ServerInterceptorOptions } from "./interceptors.ts";
import { DEFAULT_MESSAGE_BYTES } from "./limits.ts";
import { collectRoutes, type Routes } from "./routes.ts";

/** What is served and to whom; limits have defaults. */
export type JsonOpsOptions = ServerInterceptorOptions & {
  readonly routes: Routes;
  readonly interceptors?: readonly Interceptor[];
  /** Largest request and answer. 8 MiB. */
  readonly maxMessageBytes?: number;
  /** Longest deadline that a caller may ask for. 5 min. */
  readonly maxTimeoutMs?: number;
  /** Ends streams under way when the process drains. */
  readonly shutdownSignal?: AbortSignal;
};

/**
 * Makes a handler for the ops port: it answers requests whose path is one of the methods and tells
 * whether the request was one.
 */
export function createJsonOps(
  options: JsonOpsOptions,
): (request: IncomingMessage, response: ServerResponse) => boolean {
  const { shutdownSignal } = options;
  const paths = new Set(collectRoutes(options.routes).keys());
  const maxBytes = options.maxMessageBytes ?? DEFAULT_MESSAGE_BYTES;
  const handler = connectNodeAdapter({
    routes: options.routes,
    connect: true,
    grpc: false,
    grpcWeb: false,
    interceptors: [createServerInterceptor(options), ...(options.interceptors ?? [])],
    readMaxBytes: maxBytes,
    writeMaxBytes: maxBytes,
    maxTimeoutMs: options.maxTimeoutMs ?? 300_000,
    ...(shutdownSignal === undefined ? {} : { shutdownSignal }),
  });
  return (request, response) => {
    const path = (request.url ?? "/").split("?", 1)[0] ?? "/";
    if (!paths.has(path)) return false;
    handler(request, response);
    return true;
  };
}
