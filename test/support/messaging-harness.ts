/**
 * Messaging and the services that it calls (tenants, sender IDs, wallet, routing), all real and in this process, on
 * a real MongoDB and NATS, with separate databases and a clock that tests can advance.
 */
import { type Client, type ConnectRouter, createClient, type Transport } from "@connectrpc/connect";
import { MongoClient } from "mongodb";
import { Registry } from "prom-client";
import { Mode } from "../../proto/gen/sms/v1/common_pb.js";
import {
  MessageSource,
  MessagingService,
  type OutcomeKind,
  SendEndpoint,
  type SendMessagesResponse,
} from "../../proto/gen/sms/v1/messaging_pb.js";
import { RoutingService } from "../../proto/gen/sms/v1/routing_pb.js";
import { SenderIdService } from "../../proto/gen/sms/v1/sender_id_pb.js";
import { TenantService } from "../../proto/gen/sms/v1/tenant_pb.js";
import { WalletService } from "../../proto/gen/sms/v1/wallet_pb.js";
import { fingerprint } from "../../services/shared/core/canonical-json.ts";
import { idTimeMs, newId } from "../../services/shared/core/ids.ts";
import { createLifecycle } from "../../services/shared/io/lifecycle.ts";
import { createLogger } from "../../services/shared/io/log.ts";
import { openNats } from "../../services/shared/io/nats.ts";
import type { StartService } from "../../services/shared/io/service-context.ts";
import { toAppError } from "../../services/shared/rpc/error-status.ts";
import { createLocalTransport } from "../../services/shared/rpc/local-transport.ts";
import { ensureEventStream } from "./event-stream.ts";
import { freshDatabase } from "./fresh-names.ts";
import { eventually } from "./poll.ts";
import type { TestServers } from "./servers.ts";

const log = createLogger("test", process.env.TEST_LOG ?? "silent");

type SendRequest = Parameters<Client<typeof MessagingService>["sendMessages"]>[0];

/** The services and clients of a test of messaging. */
export type MessagingHarness = Awaited<ReturnType<typeof openMessagingHarness>>;

/** A tenant of a test. */
export type TestTenant = { readonly id: string };

/** Opens the services; `replicas` messaging services share one database. */
export async function openMessagingHarness(
  servers: Pick<TestServers, "mongodbUri" | "natsUrl">,
  options: {
    readonly settings?: Readonly<Record<string, string>>;
    readonly replicas?: number;
  } = {},
) {
  const prefix = freshDatabase("msg");
  const clock = createOffsetClock();
  const env = {
    MONGODB_URI: servers.mongodbUri,
    NATS_URL: servers.natsUrl,
    MONGODB_PREFIX: prefix,
    ENCRYPTION_KEYS: `test:${Buffer.alloc(32, 7).toString("base64")}`,
    // Tests run at every time of the day.
    QUIET_HOURS: "none",
    ...options.settings,
  };
  await prepare(servers, prefix);
  const lifecycle = createLifecycle({ log, drainDelayMs: 0, closeTimeoutMs: 10_000 });
  const serviceRoutes: ((router: ConnectRouter) => void)[] = [];
  // Each replica of messaging has its own RPC routes; other services call the first replica.
  const replicaRoutes: ((router: ConnectRouter) => void)[][] = [];
  const services = createLateTransport(() => [...serviceRoutes, ...(replicaRoutes[0] ?? [])]);

  async function begin(start: StartService, routes: ((router: ConnectRouter) => void)[]) {
    await start({
      env,
      log,
      clock,
      metrics: new Registry(),
      lifecycle,
      serve: (route) => void routes.push(route),
      client: (service) => createClient(service, services),
      onOps: () => undefined,
    });
  }

  for (const name of ["tenant", "sender-id", "wallet", "routing", "consent"]) {
    const { start } = (await import(`../../services/${name}/start.ts`)) as { start: StartService };
    await begin(start, serviceRoutes);
  }
  const { start } = await import("../../services/messaging/start.ts");
  for (let at = 0; at < (options.replicas ?? 1); at += 1) {
    replicaRoutes[at] = [];
    await begin(start, replicaRoutes[at] ?? []);
  }
  const replicas = replicaRoutes.map((routes) =>
    createClient(
      MessagingService,
      createLateTransport(() => routes),
    ),
  );
  const mongo = await new MongoClient(servers.mongodbUri).connect();
  const clients = {
    tenants: createClient(TenantService, services),
    senders: createClient(SenderIdService, services),
    wallets: createClient(WalletService, services),
    routing: createClient(RoutingService, services),
  };
  return {
    ...clients,
    clock,
    prefix,
    natsUrl: servers.natsUrl,
    messaging: replicas[0] as Client<typeof MessagingService>,
    replicas,
    /** The first replica's routes, to be served over the wire. */
    routes: (router: ConnectRouter) => {
      for (const route of replicaRoutes[0] ?? []) route(router);
    },
    db: mongo.db(`${prefix}_messaging`),
    mongo,
    async close() {
      await lifecycle.close();
      for (const name of DATABASES) await mongo.db(`${prefix}_${name}`).dropDatabase();
      await mongo.close();
    },
  };
}

type RouteList = readonly ((router: ConnectRouter) => void)[];

/** An in-memory transport to RPC routes that may still be added. */
function createLateTransport(current: () => RouteList): Transport {
  let known = -1;
  let transport: Transport | undefined;
  const now = (): Transport => {
    const list = current();
    if (transport === undefined || known !== list.length) {
      known = list.length;
      transport = createLocalTransport({
        routes: (router) => {
          for (const route of list) route(router);
        },
        log,
      });
    }
    return transport;
  };
  return {
    unary: (...args) => now().unary(...args),
    stream: (...args) => now().stream(...args),
  };
}

const DATABASES = ["tenant", "sender_id", "wallet", "routing", "consent", "messaging"];

async function prepare(
  servers: Pick<TestServers, "mongodbUri" | "natsUrl">,
  prefix: string,
): Promise<void> {
  const mongo = await new MongoClient(servers.mongodbUri).connect();
  for (const name of DATABASES) {
    const folder = name.replace("_", "-");
    const { migrate } = await import(`../../services/${folder}/migrate.ts`);
    await migrate(mongo.db(`${prefix}_${name}`));
  }
  await mongo.close();
  const nats = await openNats({ url: servers.natsUrl, name: "test", log });
  await ensureEventStream(nats);
  await nats.close();
}

/**
 * The system clock with an offset that the test sets. It starts no earlier than the latest id of this process,
 * because another test may have advanced its clock and ids never go back.
 */
function createOffsetClock() {
  let offsetMs = Math.max(0, idTimeMs(newId("request")) - Date.now());
  return {
    now: () => Date.now() + offsetMs,
    advance(byMs: number) {
      offsetMs += byMs;
    },
  };
}

/** Makes a tenant with money, the sender ID "Acme", and waits until messages to Nigeria are routed. */
export async function makeTenant(
  harness: MessagingHarness,
  options: { readonly funds?: bigint; readonly name?: string } = {},
): Promise<TestTenant> {
  const { tenant } = await harness.tenants.createTenant({
    name: options.name ?? freshDatabase("tenant"),
    currency: "NGN",
  });
  const tenantId = tenant?.id ?? "";
  await harness.wallets.createWallet({ tenantId, currency: "NGN" });
  const amount = options.funds ?? 10_000_000_000n;
  if (amount > 0n) await harness.wallets.fundWallet({ tenantId, amount, reference: "first" });
  await harness.senders.createSenderId({ tenantId, name: "Acme", approve: true });
  return { id: tenantId };
}

/** Makes a connector and a route over it for Nigeria; the price is per segment. */
export async function makeRoute(
  harness: MessagingHarness,
  connectorId: string,
  options: { readonly price?: bigint; readonly priority?: number; readonly prefix?: string } = {},
): Promise<string> {
  await harness.routing.createConnector({
    connector: {
      id: connectorId,
      type: 1,
      state: 1,
      smpp: { host: "127.0.0.1", port: 2775, systemId: "test", password: "secret" },
    },
  });
  const { prefix = "234", price = 40_000n, priority = 1 } = options;
  const { route } = await harness.routing.createRoute({
    route: {
      name: `${connectorId}-${prefix}`,
      connectorId,
      enabled: true,
      priority,
      weight: 1,
      prices: [{ prefix, price }],
    },
  });
  return route?.id ?? "";
}

/** A send to one Nigerian number; any field can be overridden. */
export function singleSend(tenant: TestTenant, overrides: SendRequest = {}): SendRequest {
  return {
    tenantId: tenant.id,
    mode: Mode.LIVE,
    source: MessageSource.API,
    endpoint: SendEndpoint.SINGLE,
    fenced: true,
    from: "acme",
    body: "Hello",
    recipients: [{ to: "08031234567" }],
    ...overrides,
  };
}

/** Length of a number by its prefix: national, Nigerian, British, German. */
const NUMBER_LENGTHS = { "0": 11, "+234": 14, "+44": 13, "+49": 14 } as const;

/** A bulk send to `count` numbers with the same beginning. */
export function bulkSend(tenant: TestTenant, opening: string, count: number): SendRequest {
  const found = Object.entries(NUMBER_LENGTHS).find(([prefix]) => opening.startsWith(prefix));
  if (found === undefined) throw new Error(`how long is a number that begins with ${opening}?`);
  const digits = found[1] - opening.length;
  const to = (at: number) => opening + String(at).padStart(digits, "0");
  return singleSend(tenant, {
    endpoint: SendEndpoint.BULK,
    recipients: Array.from({ length: count }, (_, at) => ({ to: to(at) })),
  });
}

/** The same send under an idempotency key. */
export function keyed(request: SendRequest, key: string): SendRequest {
  const plain = { from: request.from, body: request.body, to: request.recipients?.[0]?.to };
  return { ...request, idempotencyKey: key, fingerprint: fingerprint(plain) };
}

/** Sends; waits until messaging has loaded its route table. */
export async function sendWhenReady(
  harness: MessagingHarness,
  request: SendRequest,
): Promise<SendMessagesResponse> {
  return eventually(() => harness.messaging.sendMessages(request), { what: "a routed send" });
}

/** Claims up to `max` messages of a connector for a carrier. */
export async function claim(
  harness: MessagingHarness,
  connectorId: string,
  max = 100,
  carrierId = "carrier-1",
) {
  return (await harness.messaging.claimMessages({ connectorId, carrierId, max })).messages;
}

/** Claims one message of a connector, waiting until there is one. */
export async function claimOne(harness: MessagingHarness, connectorId: string) {
  return eventually(async () => (await claim(harness, connectorId, 1))[0], {
    what: `a message to claim from ${connectorId}`,
  });
}

/** Reports one outcome of a claimed message. */
export async function report(
  harness: MessagingHarness,
  claimed: { readonly messageId: string; readonly claimId: string },
  kind: OutcomeKind,
  more: {
    readonly carrierCode?: string;
    readonly errorCode?: string;
    readonly retryAtMs?: bigint;
  } = {},
): Promise<readonly string[]> {
  const { messageId, claimId } = claimed;
  const outcome = { messageId, claimId, kind, ...more };
  return (await harness.messaging.reportOutcomes({ outcomes: [outcome] })).staleMessageIds;
}

/** The message as its tenant sees it. */
export async function show(harness: MessagingHarness, tenant: TestTenant, messageId: string) {
  const { message } = await harness.messaging.getMessage({ tenantId: tenant.id, messageId });
  if (message === undefined) throw new Error("an answer without its message");
  return message;
}

/** Every breach that the check finds, as text; a check of no messages is one. */
export async function breachesOf(harness: MessagingHarness): Promise<string[]> {
  const found: string[] = [];
  let messages = 0n;
  for await (const part of harness.messaging.checkMessages({})) {
    found.push(...part.breaches.map(({ invariant, what, ids }) => `${invariant} ${what} ${ids}`));
    messages = part.messages;
  }
  return messages > 0n ? found : [...found, "no message was checked"];
}

/** The error code that a call fails with. */
export async function codeOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
  } catch (error) {
    return toAppError(error).code;
  }
  return "no error";
}
