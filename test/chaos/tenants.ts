/** The customers of a run: tenants with ample and with limited money, and their endpoints. */
import { setTimeout as sleep } from "node:timers/promises";
import { openClients, type StackClients } from "../../deploy/dev/stack-clients.ts";
import { Mode } from "../../proto/gen/sms/v1/common_pb.js";
import { ConnectorType } from "../../proto/gen/sms/v1/routing_pb.js";
import { WebhookEndpointStatus } from "../../proto/gen/sms/v1/webhook_pb.js";
import type { ChaosStack } from "./chaos-stack.ts";
import type { Endpoint, EndpointKind, Receivers } from "./receivers.ts";
import { SECOND_SMSC } from "./topology.ts";

/** One customer. */
export type Tenant = {
  readonly id: string;
  readonly name: string;
  readonly key: string;
  readonly testKey: string;
  readonly isPoor: boolean;
  readonly endpoints: readonly Endpoint[];
  /** Paid in and answered for, in 1/10,000 NGN. */
  funded: bigint;
};

/** The sender ID that every tenant has. */
export const SENDER = "CHAOS";

type Plan = {
  readonly name: string;
  readonly isPoor: boolean;
  readonly rateLimit: number;
  readonly endpoints: readonly EndpointKind[];
};

const PLANS: readonly Plan[] = [
  { name: "ample one", isPoor: false, rateLimit: 200, endpoints: ["ok", "hang", "disabled"] },
  { name: "ample two", isPoor: false, rateLimit: 200, endpoints: ["flaky", "fail", "ok"] },
  { name: "throttled", isPoor: false, rateLimit: 5, endpoints: ["slow", "reset", "deleted"] },
  { name: "poor one", isPoor: true, rateLimit: 200, endpoints: ["ok", "drip"] },
  { name: "poor two", isPoor: true, rateLimit: 200, endpoints: ["flaky", "slow", "ok", "hang"] },
];

const AMPLE = 10_000_000_000n;
/** Enough for some dozen messages. */
const LIMITED = 2_000_000n;
const TOP_UP_EVERY_MS = 5000;

/** A second route at another price, so that a rejected message can be rerouted. */
const SECOND_PRICE = 60_000n;

/** Creates the tenants, and points the connectors at the link to the carrier. */
export async function seedTenants(stack: ChaosStack, receivers: Receivers): Promise<Tenant[]> {
  const clients = openClients(stack.state, stack.file.grpc_token);
  try {
    await seedRoutes(clients, stack);
    const port = stack.links.get("webhook>receivers")?.port ?? 0;
    const tenants: Tenant[] = [];
    for (const plan of PLANS) tenants.push(await seedTenant(clients, plan, port, receivers));
    return tenants;
  } finally {
    clients.close();
  }
}

async function seedRoutes({ routing }: StackClients, stack: ChaosStack): Promise<void> {
  const { smsc } = stack.file;
  const portOf = (link: string) => stack.links.get(link)?.port ?? 0;
  const smpp = {
    host: "127.0.0.1",
    port: portOf("carriers>smsc"),
    systemId: smsc.system_id,
    password: smsc.password,
    bindMode: "transceiver",
    window: 20,
  };
  await routing.updateConnector({
    id: "smsc",
    connector: { id: "smsc", smpp: { ...smpp, binds: 2 } },
    fields: ["smpp"],
  });
  const second = {
    id: SECOND_SMSC,
    type: ConnectorType.SMPP,
    smpp: { ...smpp, port: portOf(`carriers>${SECOND_SMSC}`), binds: 1 },
  };
  await routing.createConnector({ connector: second });
  await routing.createRoute({
    route: {
      name: "second",
      connectorId: second.id,
      enabled: true,
      priority: 2,
      weight: 1,
      prices: [{ prefix: "234", price: SECOND_PRICE }],
    },
  });
}

/** The endpoint that every tenant has for its test messages. */
const FOR_TESTS = { kind: "ok", mode: "test" } as const;

const WIRE_MODE = { live: Mode.LIVE, test: Mode.TEST } as const;

async function seedTenant(
  clients: StackClients,
  plan: Plan,
  port: number,
  receivers: Receivers,
): Promise<Tenant> {
  const { name, isPoor, rateLimit } = plan;
  const created = await clients.tenants.createTenant({
    name: `Chaos ${name}`,
    rateLimit,
    burst: 2 * rateLimit,
  });
  const tenantId = created.tenant?.id ?? "";
  const live = await clients.tenants.createApiKey({ tenantId, mode: Mode.LIVE });
  const test = await clients.tenants.createApiKey({ tenantId, mode: Mode.TEST });
  await clients.wallets.createWallet({ tenantId, currency: "NGN" });
  const funded = isPoor ? LIMITED : AMPLE;
  const actor = { name: "chaos" };
  await clients.wallets.fundWallet({ tenantId, amount: funded, reference: "first", actor });
  await clients.senderIds.createSenderId({ tenantId, name: SENDER, approve: true });
  const endpoints: Endpoint[] = [];
  const planned = [...plan.endpoints.map((kind) => ({ kind, mode: "live" as const })), FOR_TESTS];
  for (const [at, { kind, mode }] of planned.entries()) {
    const path = `/${kind}/${tenantId}/${at}`;
    const wanted = { tenantId, mode: WIRE_MODE[mode], url: `https://localhost:${port}${path}` };
    const { endpoint, secret } = await clients.webhooks.createEndpoint(wanted);
    const id = endpoint?.id ?? "";
    const made = { id, tenantId, mode, kind, path, secret };
    receivers.add(made);
    endpoints.push(made);
    if (kind === "disabled") {
      const status = WebhookEndpointStatus.DISABLED;
      await clients.webhooks.updateEndpoint({ tenantId, endpointId: id, status });
    }
    if (kind === "deleted") await clients.webhooks.deleteEndpoint({ tenantId, endpointId: id });
  }
  return { id: tenantId, name, key: live.secret, testKey: test.secret, isPoor, endpoints, funded };
}

/** Funds the poor tenants' wallets from time to time; retries each payment until it succeeds. */
export function startTopUps(stack: ChaosStack, tenants: readonly Tenant[]) {
  const clients = openClients(stack.state, stack.file.grpc_token);
  const halt = new AbortController();

  async function pay(tenant: Tenant, reference: string): Promise<void> {
    for (;;) {
      try {
        const actor = { name: "chaos" };
        const tenantId = tenant.id;
        await clients.wallets.fundWallet({ tenantId, amount: LIMITED, reference, actor });
        tenant.funded += LIMITED;
        return;
      } catch {
        // The same reference makes retries idempotent.
        await sleep(500);
      }
    }
  }

  async function run(): Promise<void> {
    for (let round = 1; !halt.signal.aborted; round += 1) {
      await sleep(TOP_UP_EVERY_MS, undefined, { signal: halt.signal }).catch(() => undefined);
      if (halt.signal.aborted) return;
      const poor = tenants.filter(({ isPoor }) => isPoor);
      await Promise.all(poor.map((tenant) => pay(tenant, `top-up-${round}`)));
    }
  }
  const running = run();
  return {
    /** Resolves when every started payment has a response. */
    async end(): Promise<void> {
      halt.abort();
      await running;
      clients.close();
    },
  };
}
