/**
 * The customers' webhook servers, good and bad, on one HTTPS port: the path selects the endpoint and its
 * behaviour. Keeps only what the checks need of each request.
 */
import { appendFileSync, readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { isSigned } from "../../deploy/dev/signature.ts";

/**
 * `flaky` refuses the first attempt of each delivery; `drip` responds 200 and never ends its body, which is
 * success; `disabled` and `deleted` are in that state from the start.
 */
export type EndpointKind =
  | "ok"
  | "slow"
  | "flaky"
  | "hang"
  | "fail"
  | "reset"
  | "drip"
  | "disabled"
  | "deleted";

/** Endpoints that accept every event in the end. */
export const HEALTHY_KINDS: ReadonlySet<EndpointKind> = new Set(["ok", "slow", "flaky", "drip"]);

/** Endpoints that let every attempt time out: each attempt holds its slot until then. */
export const HANGING_KINDS: ReadonlySet<EndpointKind> = new Set(["hang"]);

/** One endpoint of a tenant. */
export type Endpoint = {
  readonly id: string;
  readonly tenantId: string;
  readonly mode: "live" | "test";
  readonly kind: EndpointKind;
  readonly path: string;
  readonly secret: string;
};

/** One request to an endpoint. */
export type Hook = {
  readonly path: string;
  readonly atMs: number;
  readonly isSigned: boolean;
  readonly deliveryId: string;
  /** Counted from 1. */
  readonly attempt: number;
  readonly eventId: string;
  readonly tenantId: string;
  readonly messageId: string;
  readonly status: string;
  readonly previous: string;
  /** The status of the response; 0 without one. */
  readonly answer: number;
};

/** The running servers. */
export type Receivers = {
  readonly port: number;
  readonly hooks: readonly Hook[];
  add(endpoint: Endpoint): void;
  close(): Promise<void>;
};

const SLOW_MS = 400;
const DRIP_MS = 200;

/** The response of an endpoint to the first or a later attempt. */
function answerOf(kind: EndpointKind, wasRefused: boolean): number {
  switch (kind) {
    case "hang":
    case "reset":
      return 0;
    case "fail":
      return 500;
    case "flaky":
      return wasRefused ? 204 : 503;
    case "slow":
    case "drip":
      return 200;
    default:
      return 204;
  }
}

/** Starts them; every request is also written to `file`, one JSON object a line. */
export async function startReceivers(
  tls: { readonly certFile: string; readonly keyFile: string },
  file: string,
): Promise<Receivers> {
  const endpoints = new Map<string, Endpoint>();
  const hooks: Hook[] = [];
  const refused = new Set<string>();

  function behave(kind: EndpointKind, status: number, response: ServerResponse): void {
    if (kind === "hang") return;
    if (kind === "reset") {
      response.socket?.destroy();
    } else if (kind === "drip") {
      response.writeHead(status);
      const timer = setInterval(() => response.write("."), DRIP_MS);
      response.once("close", () => clearInterval(timer));
    } else {
      setTimeout(() => response.writeHead(status).end(), kind === "slow" ? SLOW_MS : 0);
    }
  }

  const options = { cert: readFileSync(tls.certFile), key: readFileSync(tls.keyFile) };
  const server = createServer(options, (request, response) => {
    response.on("error", () => undefined);
    const chunks: Buffer[] = [];
    request.on("error", () => undefined);
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const endpoint = endpoints.get(request.url ?? "");
      const seen = readHook(request, Buffer.concat(chunks), endpoint);
      const kind = endpoint?.kind ?? "ok";
      const hook = { ...seen, answer: answerOf(kind, refused.has(seen.deliveryId)) };
      if (kind === "flaky") refused.add(hook.deliveryId);
      hooks.push(hook);
      appendFileSync(file, `${JSON.stringify(hook)}\n`);
      behave(kind, hook.answer, response);
    });
  });
  server.on("tlsClientError", () => undefined);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    hooks,
    add: (endpoint) => void endpoints.set(endpoint.path, endpoint),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

type EventBody = {
  readonly id?: string;
  readonly tenant_id?: string;
  readonly data?: {
    readonly previous_status?: string;
    readonly object?: { readonly id?: string; readonly status?: string };
  };
};

/** The event in a body; a body that is not JSON has no ids, which the checks report. */
export function readEvent(
  body: string,
): Pick<Hook, "eventId" | "tenantId" | "messageId" | "status" | "previous"> {
  let event: EventBody = {};
  try {
    event = JSON.parse(body) as EventBody;
  } catch {
    // Every id stays empty.
  }
  return {
    eventId: event.id ?? "",
    tenantId: event.tenant_id ?? "",
    messageId: event.data?.object?.id ?? "",
    status: event.data?.object?.status ?? "",
    previous: event.data?.previous_status ?? "",
  };
}

function readHook(
  { headers, url = "" }: IncomingMessage,
  body: Buffer,
  endpoint: Endpoint | undefined,
): Omit<Hook, "answer"> {
  const signature = headers["x-service-signature"];
  const nowMs = Date.now();
  return {
    path: url,
    atMs: nowMs,
    isSigned:
      endpoint !== undefined &&
      typeof signature === "string" &&
      isSigned(signature, body, [endpoint.secret], nowMs),
    deliveryId: String(headers["x-service-delivery-id"]),
    attempt: Number(headers["x-service-delivery-attempt"]),
    ...readEvent(body.toString("utf8")),
  };
}
