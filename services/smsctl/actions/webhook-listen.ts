/**
 * `smsctl webhook listen`: a local HTTPS receiver that verifies and prints deliveries. It creates an
 * endpoint for the tenant and deletes it at the end.
 */
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import { join } from "node:path";
import { AppError } from "../../shared/core/errors.ts";
import { findSignatureFault } from "../../shared/core/webhook-signature.ts";
import { readBody } from "../../shared/io/read-body.ts";
import { toAppError } from "../../shared/rpc/error-status.ts";
import { stackFolder } from "../calls/addresses.ts";
import { tenantId } from "../calls/tenants.ts";
import { uncertainResult } from "../calls/uncertain-result.ts";
import type { CommandContext } from "../cli/command.ts";
import { readMode } from "../cli/mode.ts";

/** Largest body that is accepted: a webhook has a few kilobytes. */
const BODY_BYTES_MAX = 1_048_576;

/** Distance from the gateway's port to the port of `listen`, in the development stack. */
const LISTEN_OFFSET = 47;

export async function listen(context: CommandContext): Promise<number> {
  const { clients, options, output, signal } = context;
  const tenant = await tenantId(context);
  const mode = readMode(options);
  const port = options.whole("port") ?? defaultPort();
  let secret = "";
  const server = await startReceiver(options, port, (request, body) => {
    const header = request.headers["x-service-signature"];
    const fault = findSignatureFault({
      header: typeof header === "string" ? header : undefined,
      rawBody: body,
      secrets: [secret],
      nowMs: Date.now(),
    });
    void output.result(describe(request, body, fault));
    return fault === undefined;
  });
  const url = options.optional("url") ?? `https://localhost:${port}/`;
  let endpointId = "";
  try {
    const wanted = { tenantId: tenant, mode, url, eventTypes: options.list("events") };
    const made = await clients.webhooks
      .createEndpoint({ ...wanted, description: "smsctl webhook listen" })
      .catch(uncertainResult);
    secret = made.secret;
    endpointId = made.endpoint?.id ?? "";
    output.note(`listening at ${url} as ${endpointId}; Ctrl-C ends it and deletes the endpoint`);
    if (!signal.aborted) await once(signal, "abort");
  } finally {
    server.close();
    server.closeAllConnections();
    if (endpointId !== "") await deleteEndpoint(context, tenant, endpointId);
  }
  return 0;
}

/** Names the endpoint if it cannot be deleted: it counts toward the limit, and its deliveries are retried for days. */
async function deleteEndpoint(
  { clients }: CommandContext,
  tenant: string,
  endpointId: string,
): Promise<void> {
  try {
    await clients.webhooks.deleteEndpoint({ tenantId: tenant, endpointId });
  } catch (thrown) {
    const error = toAppError(thrown);
    const what = `The endpoint ${endpointId} could not be deleted: ${error.message}`;
    throw new AppError(error.code, what, { cause: thrown });
  }
}

function describe(request: IncomingMessage, body: Buffer, fault: string | undefined) {
  const event = JSON.parse(body.toString("utf8")) as {
    id: string;
    type: string;
    created_at: string;
    data: { previous_status?: string; object: Record<string, string | null> };
  };
  return {
    received_at: new Date().toISOString(),
    signature: fault === undefined ? "verified" : `refused: ${fault}`,
    type: event.type,
    event: event.id,
    delivery: String(request.headers["x-service-delivery-id"] ?? ""),
    attempt: String(request.headers["x-service-delivery-attempt"] ?? ""),
    created_at: event.created_at,
    previous_status: event.data.previous_status ?? null,
    object: event.data.object,
  };
}

async function startReceiver(
  options: CommandContext["options"],
  port: number,
  take: (request: IncomingMessage, body: Buffer) => boolean,
): Promise<Server> {
  const server = createServer(
    {
      cert: readFileSync(options.optional("cert") ?? developmentFile("localhost.pem")),
      key: readFileSync(options.optional("key") ?? developmentFile("localhost.key.pem")),
    },
    (request, response) => void answer(request, response, take),
  );
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, resolve);
  });
  return server;
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  take: (request: IncomingMessage, body: Buffer) => boolean,
): Promise<void> {
  try {
    const body = await readBody(request, BODY_BYTES_MAX);
    const isTaken = body !== undefined && take(request, body);
    response.writeHead(isTaken ? 204 : 400).end();
  } catch {
    response.writeHead(400).end();
  }
}

function developmentFile(name: string): string {
  const file = join(stackFolder(), "tls", name);
  if (existsSync(file)) return file;
  throw new AppError("validation_error", "Give --cert and --key, and --url of a public address.");
}

/** The port that the development stack's webhook service may connect to. */
function defaultPort(): number {
  const file = join(stackFolder(), "stack.json");
  if (!existsSync(file)) return 8443;
  const { gateway } = JSON.parse(readFileSync(file, "utf8")) as { gateway: string };
  return Number(new URL(gateway).port) + LISTEN_OFFSET;
}
