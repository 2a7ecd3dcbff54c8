import { Code, ConnectError } from "@connectrpc/connect";
import { Mode } from "../../proto/gen/sms/v1/common_pb.js";
import type { Connector } from "../../proto/gen/sms/v1/routing_pb.js";
import { ConnectorType } from "../../proto/gen/sms/v1/routing_pb.js";
import { SenderIdReview, SenderIdStatus } from "../../proto/gen/sms/v1/sender_id_pb.js";
import { WebhookEndpointStatus } from "../../proto/gen/sms/v1/webhook_pb.js";
import { SHORT_CODE } from "./demo-answer.ts";
import { readJson, writeJson } from "./json-file.ts";
import type { Launcher } from "./launch.ts";
import { portOf } from "./port-layout.ts";
import { SMSC_SYSTEM_ID } from "./process-table.ts";
import { openClients, type StackClients } from "./stack-clients.ts";
import { StackError } from "./stack-error.ts";
import type { Seeded } from "./stack-file.ts";

/**
 * Makes what the demo needs, over the same gRPC interface that operators use: a funded tenant with
 * keys and an approved sender ID, a connector to the simulator, a route with prices, a webhook
 * endpoint at the receiver, a number for answers. A later run keeps what it can use and makes the rest.
 */
export async function seed(launcher: Launcher): Promise<Seeded> {
  const { layout, state, secrets } = launcher;
  const clients = openClients(state, state.settings.RPC_TOKEN ?? secrets.rpcToken);
  try {
    const kept = readJson<Kept>(layout.seedFile);
    const isOurs = await isKnown(clients, kept);
    const [tenant] = await Promise.all([
      seedTenant(clients, isOurs ? kept : undefined),
      seedRoute(clients, launcher, isOurs),
    ]);
    const [webhook] = await Promise.all([
      seedWebhook(clients, tenant.tenant_id, launcher, kept),
      seedFunds(clients, tenant.tenant_id),
      seedSenderId(clients, tenant.tenant_id),
      seedNumber(clients, tenant.tenant_id),
    ]);
    writeJson(layout.seedFile, { ...tenant, ...webhook } satisfies Kept);
    writeJson(layout.receiverSecretsFile, [webhook.webhook_secret]);
    return { ...tenant, sender_id: SENDER_ID, webhook_secret: webhook.webhook_secret };
  } catch (error) {
    if (!(error instanceof ConnectError)) throw error;
    throw new StackError(`the demo tenant could not be made: ${error.message}; see make logs`);
  } finally {
    clients.close();
  }
}

type Kept = Omit<Seeded, "sender_id"> & { readonly webhook_id: string };

const TENANT_NAME = "Demo";
const SENDER_ID = "DEMO";
const CONNECTOR_ID = "smsc";
const ROUTE_NAME = "smsc";
const EVENT_TYPES = ["message.status_changed", "inbound_message.received"] as const;

/** High enough that benchmarks with the demo key measure the service and not the limiter. */
const REQUESTS_PER_SECOND = 20_000;

/** In 1/10,000 NGN: topped up to 10 million whenever a tenth of it is left. */
const FUNDS = 100_000_000_000n;

/** Per segment, in 1/10,000 NGN. */
const PRICES: readonly { readonly prefix: string; readonly price: bigint }[] = [
  { prefix: "234", price: 40_000n },
  { prefix: "233", price: 120_000n },
  { prefix: "254", price: 150_000n },
  { prefix: "27", price: 180_000n },
  { prefix: "44", price: 450_000n },
];

type Keys = Pick<Seeded, "tenant_id" | "api_key" | "test_api_key">;

/** True when this database was seeded last; the environment may name another now. */
async function isKnown({ tenants }: StackClients, kept: Kept | undefined): Promise<boolean> {
  if (kept === undefined) return false;
  return (await unlessNotFound(tenants.getTenant({ idOrName: kept.tenant_id }))) !== undefined;
}

async function seedTenant({ tenants }: StackClients, kept: Kept | undefined): Promise<Keys> {
  if (kept !== undefined) {
    return { tenant_id: kept.tenant_id, api_key: kept.api_key, test_api_key: kept.test_api_key };
  }
  const found = await unlessNotFound(tenants.getTenant({ idOrName: TENANT_NAME }));
  const limits = { rateLimit: REQUESTS_PER_SECOND, burst: 2 * REQUESTS_PER_SECOND };
  const { tenant } = found ?? (await tenants.createTenant({ name: TENANT_NAME, ...limits }));
  const tenantId = tenant?.id ?? "";
  const [live, test] = await Promise.all([
    tenants.createApiKey({ tenantId, mode: Mode.LIVE }),
    tenants.createApiKey({ tenantId, mode: Mode.TEST }),
  ]);
  return { tenant_id: tenantId, api_key: live.secret, test_api_key: test.secret };
}

async function seedFunds({ wallets }: StackClients, tenantId: string): Promise<void> {
  const found = await unlessNotFound(wallets.getWallet({ tenantId }));
  const wallet =
    found?.wallet ?? (await wallets.createWallet({ tenantId, currency: "NGN" })).wallet;
  const available = wallet?.available ?? 0n;
  if (available > FUNDS / 10n) return;
  // The reference includes the balance, so a retry of this top-up is idempotent.
  const reference = `demo-${wallet?.balance ?? 0n}`;
  await wallets.fundWallet({
    tenantId,
    amount: FUNDS - available,
    reference,
    actor: { name: "make up" },
  });
}

async function seedSenderId({ senderIds }: StackClients, tenantId: string): Promise<void> {
  const found = await unlessNotFound(senderIds.resolveSenderId({ tenantId, name: SENDER_ID }));
  if (found === undefined) {
    await senderIds.createSenderId({ tenantId, name: SENDER_ID, approve: true });
  } else if (found.senderId?.status === SenderIdStatus.PENDING) {
    const idOrName = found.senderId.id;
    await senderIds.reviewSenderId({ idOrName, tenantId, review: SenderIdReview.APPROVE });
  }
}

async function seedNumber({ consents }: StackClients, tenantId: string): Promise<void> {
  const { inboundNumbers } = await consents.listInboundNumbers({ tenantId });
  if (inboundNumbers.some(({ number }) => number === SHORT_CODE)) return;
  await consents.createInboundNumber({ tenantId, number: SHORT_CODE });
}

/** A shared database may hold another stack's simulator password. */
async function seedRoute(
  { routing }: StackClients,
  launcher: Launcher,
  isOurs: boolean,
): Promise<void> {
  const smpp = {
    host: "127.0.0.1",
    port: portOf(launcher.state.portBase, "smsc"),
    systemId: SMSC_SYSTEM_ID,
    password: launcher.secrets.smscPassword,
    bindMode: "transceiver",
    binds: 1,
    window: 100,
    // The answer of the simulator to test number 9916.
    submitErrorCodes: { "0x420": "dnd_blocked" },
  };
  const { connectors } = await routing.listConnectors({});
  const connector = connectors.find(({ id }) => id === CONNECTOR_ID);
  if (connector === undefined) {
    await routing.createConnector({
      connector: { id: CONNECTOR_ID, type: ConnectorType.SMPP, smpp },
    });
  } else if (!isOurs || !isAt(connector, smpp)) {
    await routing.updateConnector({
      id: CONNECTOR_ID,
      connector: { id: CONNECTOR_ID, smpp },
      fields: ["smpp"],
    });
  }
  const { routes } = await routing.listRoutes({});
  if (routes.some(({ name }) => name === ROUTE_NAME)) return;
  await routing.createRoute({
    route: {
      name: ROUTE_NAME,
      connectorId: CONNECTOR_ID,
      enabled: true,
      priority: 1,
      weight: 1,
      prices: [...PRICES],
    },
  });
}

function isAt({ smpp }: Connector, wanted: { host: string; port: number; systemId: string }) {
  return (
    smpp?.host === wanted.host && smpp.port === wanted.port && smpp.systemId === wanted.systemId
  );
}

async function seedWebhook(
  { webhooks }: StackClients,
  tenantId: string,
  { state }: Launcher,
  kept: Kept | undefined,
): Promise<Pick<Kept, "webhook_id" | "webhook_secret">> {
  const url = `https://localhost:${portOf(state.portBase, "receiver")}/`;
  const { endpoints } = await webhooks.listEndpoints({ tenantId });
  const mine = endpoints.find(({ id }) => id === kept?.webhook_id);
  const isEnabled = mine?.status === WebhookEndpointStatus.ENABLED;
  const isSubscribed = EVENT_TYPES.every((type) => mine?.eventTypes.includes(type));
  if (mine !== undefined && kept !== undefined && mine.url === url && isEnabled && isSubscribed) {
    return { webhook_id: mine.id, webhook_secret: kept.webhook_secret };
  }
  // An endpoint that is disabled, or has an unknown secret, another port or fewer events is unusable here.
  const stale = endpoints.filter((endpoint) => endpoint.id === mine?.id || endpoint.url === url);
  for (const { id } of stale) await webhooks.deleteEndpoint({ tenantId, endpointId: id });
  const { endpoint, secret } = await webhooks.createEndpoint({
    tenantId,
    url,
    eventTypes: [...EVENT_TYPES],
  });
  return { webhook_id: endpoint?.id ?? "", webhook_secret: secret };
}

async function unlessNotFound<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof ConnectError && error.code === Code.NotFound) return undefined;
    throw error;
  }
}
