/**
 * The same methods in Connect's JSON form over HTTP/1.1, for curl on the ops port: `curl -H 'content-type:
 * application/json' -d '{"tenantId": "…"}' …/sms.v1.WalletService/GetWallet`.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { create, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { statusName } from "./call-report.ts";
import { createServerInterceptor, type ServerInterceptorOptions } from "./interceptors.ts";
import { DEFAULT_MESSAGE_BYTES } from "./limits.ts";
import { collectRoutes, type Routes } from "./routes.ts";

/** The routes, the callers and the limits; limits have defaults. */
export type JsonOpsOptions = ServerInterceptorOptions & {
  readonly routes: Routes;
  /** The largest request and response. 16 MiB. */
  readonly maxMessageBytes?: number;
};

/** The longest deadline that a caller may set. */
const MAX_TIMEOUT_MS = 300_000;

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * Creates a handler for the ops port. It handles requests whose path is one of the methods and returns whether
 * the request was one. An unauthorised caller is refused before the body is read.
 */
export function createJsonOps(
  options: JsonOpsOptions,
): (request: IncomingMessage, response: ServerResponse) => boolean {
  const routes = collectRoutes(options.routes);
  let handler: Promise<Handler> | undefined;
  return (request, response) => {
    const route = routes.get((request.url ?? "/").split("?", 1)[0] ?? "/");
    if (route === undefined) return false;
    const refusal = route.isOpen ? undefined : refusalOf(options, route.name, request);
    if (refusal !== undefined) {
      options.onCall?.({ method: route.name, code: statusName(refusal.code), durationMs: 0 });
      refuse(response, refusal);
      return true;
    }
    handler ??= openHandler(options);
    handler.then((handle) => handle(request, response)).catch(() => response.destroy());
    return true;
  };
}

/** Created at the first request: its protocol code is megabytes that few processes need. */
async function openHandler(options: JsonOpsOptions): Promise<Handler> {
  const { connectNodeAdapter } = await import("@connectrpc/connect-node");
  const maxBytes = options.maxMessageBytes ?? DEFAULT_MESSAGE_BYTES;
  return connectNodeAdapter({
    routes: options.routes,
    connect: true,
    grpc: false,
    grpcWeb: false,
    interceptors: [createServerInterceptor(options)],
    readMaxBytes: maxBytes,
    writeMaxBytes: maxBytes,
    maxTimeoutMs: MAX_TIMEOUT_MS,
  });
}

function refusalOf(
  { auth }: JsonOpsOptions,
  method: string,
  request: IncomingMessage,
): ConnectError | undefined {
  try {
    auth?.authorize(method, request.headers.authorization);
    return undefined;
  } catch (error) {
    return ConnectError.from(error);
  }
}

/** Sends an error as Connect does (its protocol, "Error Codes"), and reads no more from the caller. */
export function refuse(
  response: ServerResponse,
  { code, rawMessage: message, details }: ConnectError,
): void {
  const [status, name] =
    code === Code.Unauthenticated ? [401, "unauthenticated"] : [403, "permission_denied"];
  response.writeHead(status, {
    "content-type": "application/json",
    "cache-control": "no-store",
    connection: "close",
  });
  response.end(JSON.stringify({ code: name, message, details: details.flatMap(toJson) }));
}

/** An error detail in Connect's JSON form: the message's type, and its bytes in base64. */
function toJson(detail: ConnectError["details"][number]) {
  if (!("desc" in detail)) return [];
  const octets = toBinary(detail.desc, create(detail.desc, detail.value));
  const value = Buffer.from(octets).toString("base64").replace(/=+$/, "");
  return [{ type: detail.desc.typeName, value }];
}
