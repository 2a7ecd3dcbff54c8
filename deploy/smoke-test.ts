/**
 * `node deploy/smoke-test.ts <gateway URL> [--to=<number>] [--webhook=<URL>]` follows one message of a
 * test tenant from acceptance to delivery, and to a webhook when a URL is given. `helm test` runs it. It
 * uses a test key, so the built-in route carries the message: it reaches no carrier and costs nothing.
 * As for every test key, a live route must still serve the number. Exits 1 with one line when a step fails.
 */

import { setTimeout as delay } from "node:timers/promises";
import type { DescService } from "@bufbuild/protobuf";
import { type Client, Code, ConnectError, createClient } from "@connectrpc/connect";
import { Mode } from "../proto/gen/sms/v1/common_pb.js";
import { SenderIdService } from "../proto/gen/sms/v1/sender_id_pb.js";
import { TenantService } from "../proto/gen/sms/v1/tenant_pb.js";
import { DeliveryStatus, WebhookService } from "../proto/gen/sms/v1/webhook_pb.js";
import { methodsOf, SMOKE_TEST } from "../services/shared/caller-methods.ts";
import { restrictMethods } from "../services/shared/rpc/restrict-methods.ts";
import { createGrpcJsTransport, type RpcTransport } from "../services/shared/rpc/transport.ts";

const TENANT = "helm-test";
const SENDER = "HELM TEST";
const WAIT_MS = 60_000;
/** Older endpoints of the test tenant were left by interrupted runs. */
const LEFTOVER_MS = 600_000n;

const [gateway = "", ...flags] = process.argv.slice(2);
const webhookUrl = flagOf("webhook") ?? "";
const to = flagOf("to") ?? "+2348030000000";
const transports: RpcTransport[] = [];

try {
  await run();
} catch (error) {
  process.stderr.write(`round trip: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
} finally {
  for (const transport of transports) transport.close();
}

async function run(): Promise<void> {
  const tenants = connect(TenantService, "TENANT_GRPC");
  const tenantId = await makeTenant(tenants);
  await makeSenderId(tenantId);
  const endpointId = webhookUrl === "" ? undefined : await makeEndpoint(tenantId);
  const { key, secret } = await tenants.createApiKey({ tenantId, mode: Mode.TEST });
  try {
    const id = await send(secret);
    say(`${id} accepted`);
    await waitFor("delivery", async () => (await statusOf(secret, id)) === "delivered");
    say(`${id} delivered`);
    if (endpointId === undefined) say("webhook left out: no URL was given");
    else {
      await waitFor("the webhook", () => isDelivered(tenantId, endpointId));
      say("webhook taken");
    }
    say("all went well");
  } finally {
    await tenants.revokeApiKey({ tenantId, keyId: key?.id ?? "" });
    if (endpointId !== undefined) {
      await connect(WebhookService, "WEBHOOK_GRPC").deleteEndpoint({ tenantId, endpointId });
    }
  }
}

async function makeTenant(tenants: Client<typeof TenantService>): Promise<string> {
  const found = await unless(Code.NotFound, tenants.getTenant({ idOrName: TENANT }));
  const { tenant } = found ?? (await tenants.createTenant({ name: TENANT }));
  return tenant?.id ?? "";
}

async function makeSenderId(tenantId: string): Promise<void> {
  const senderIds = connect(SenderIdService, "SENDER_ID_GRPC");
  const made = senderIds.createSenderId({ tenantId, name: SENDER, approve: true });
  await unless(Code.AlreadyExists, made);
}

async function makeEndpoint(tenantId: string): Promise<string> {
  const webhooks = connect(WebhookService, "WEBHOOK_GRPC");
  const { endpoints } = await webhooks.listEndpoints({ tenantId });
  const before = BigInt(Date.now()) - LEFTOVER_MS;
  for (const { id } of endpoints.filter(({ createdAtMs }) => createdAtMs < before)) {
    await webhooks.deleteEndpoint({ tenantId, endpointId: id });
  }
  const { endpoint } = await webhooks.createEndpoint({
    tenantId,
    mode: Mode.TEST,
    url: webhookUrl,
  });
  return endpoint?.id ?? "";
}

async function isDelivered(tenantId: string, endpointId: string): Promise<boolean> {
  const webhooks = connect(WebhookService, "WEBHOOK_GRPC");
  const { deliveries } = await webhooks.listDeliveries({ tenantId, endpointId, limit: 10 });
  const attempt = deliveries.flatMap(({ attempts }) => attempts).at(-1);
  if (attempt !== undefined && attempt.error !== "") {
    throw new Error(`the webhook's first attempt failed: ${attempt.error} ${attempt.httpStatus}`);
  }
  return deliveries.some(({ status }) => status === DeliveryStatus.SUCCEEDED);
}

async function send(secret: string): Promise<string> {
  const { data } = await call<{ data: { id: string } }>(secret, "/v1/sms/messages", {
    to,
    from: SENDER,
    body: "helm test",
  });
  return data.id;
}

async function statusOf(secret: string, id: string): Promise<string> {
  const { data } = await call<{ data: { status: string } }>(secret, `/v1/messages/${id}`);
  if (["failed", "undelivered", "expired"].includes(data.status)) {
    throw new Error(`${id} is ${data.status}`);
  }
  return data.status;
}

async function call<T>(secret: string, path: string, body?: unknown): Promise<T> {
  const response = await fetch(new URL(path, gateway), {
    method: body === undefined ? "GET" : "POST",
    headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(15_000),
  });
  if (!response.ok) {
    const text = await response.text();
    const hint = text.includes("destination_not_supported") ? `no route serves ${to} to it: ` : "";
    throw new Error(`${path}: ${hint}${response.status} ${text}`);
  }
  return (await response.json()) as T;
}

function flagOf(name: string): string | undefined {
  const start = `--${name}=`;
  return flags.find((flag) => flag.startsWith(start))?.slice(start.length);
}

function connect<S extends DescService>(service: S, setting: string): Client<S> {
  const { RPC_TOKEN, [setting]: target } = process.env;
  const { RPC_TLS_CA_FILE: caFile, RPC_TLS_CERT_FILE: certFile } = process.env;
  const { RPC_TLS_KEY_FILE: keyFile } = process.env;
  if (target === undefined) throw new Error(`${setting} is required`);
  const transport = createGrpcJsTransport({
    target,
    token: RPC_TOKEN,
    waitForReady: true,
    ...(caFile && certFile && keyFile ? { tls: { caFile, certFile, keyFile } } : {}),
  });
  transports.push(transport);
  const methods = methodsOf([SMOKE_TEST], service.typeName);
  return createClient(service, restrictMethods(transport, service, SMOKE_TEST, methods));
}

/** The response, or undefined when the call fails with this code. */
async function unless<T>(code: Code, answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ConnectError && error.code === code) return undefined;
    throw error;
  }
}

async function waitFor(what: string, isDone: () => Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + WAIT_MS;
  while (!(await isDone())) {
    if (performance.now() > deadlineMs) throw new Error(`${what}: not within ${WAIT_MS / 1000} s`);
    await delay(250);
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
