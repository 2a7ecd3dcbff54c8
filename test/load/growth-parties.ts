import { type Client, createClient } from "@connectrpc/connect";
import type { StackFile } from "../../deploy/dev/stack-file.ts";
import { Mode } from "../../proto/gen/sms/v1/common_pb.js";
import { SenderIdService } from "../../proto/gen/sms/v1/sender_id_pb.js";
import { TenantService } from "../../proto/gen/sms/v1/tenant_pb.js";
import { WalletService } from "../../proto/gen/sms/v1/wallet_pb.js";
import { WebhookService } from "../../proto/gen/sms/v1/webhook_pb.js";
import { newId } from "../../services/shared/core/ids.ts";
import { createGrpcJsTransport, type RpcTransport } from "../../services/shared/rpc/transport.ts";
import { singleSend } from "./sends.ts";

/** The most endpoints one tenant may have. */
const ENDPOINTS_OF_A_TENANT = 5;

const AT_ONCE = 32;
const LIMIT = 20_000;

type Sender = (at: number) => Buffer;

/** Senders added so far, by stack: the demo tenant is the first of all. */
const senders = new WeakMap<StackFile, Sender[]>();

/** Sends made by turn so far, by stack. */
const turns = new WeakMap<StackFile, number>();

/**
 * Sends for the stack's tenants in round robin. Each round continues after the last tenant of the one
 * before, because rounds from the start would never reach most of 10,000 tenants.
 */
export function sendByTurn(stack: StackFile): () => Buffer {
  const all = sendersOf(stack);
  return () => {
    const at = turns.get(stack) ?? 0;
    turns.set(stack, at + 1);
    return (all[at % all.length] as Sender)(at);
  };
}

function sendersOf(stack: StackFile): Sender[] {
  const all = senders.get(stack) ?? [(at: number) => singleSend(stack, at)];
  senders.set(stack, all);
  return all;
}

/** Adds whole tenants: key, wallet with funds, sender ID. */
export async function addTenants(stack: StackFile, from: number, to: number): Promise<void> {
  const all = sendersOf(stack);
  const channels: RpcTransport[] = [];
  const transport = (name: string) => {
    const channel = createGrpcJsTransport({
      target: stack.grpc[name] ?? "",
      token: stack.grpc_token,
    });
    channels.push(channel);
    return channel;
  };
  const clients: Clients = {
    tenants: createClient(TenantService, transport("tenant")),
    wallets: createClient(WalletService, transport("wallet")),
    senderIds: createClient(SenderIdService, transport("sender-id")),
  };
  const wanted = to - Math.max(1, from);
  await inLanes(wanted, async () => {
    const apiKey = await addTenant(clients);
    const own = { ...stack, api_key: apiKey, sender_id: "GROWTH" };
    all.push((at) => singleSend(own, at));
  });
  for (const channel of channels) channel.close();
}

type Clients = {
  readonly tenants: Client<typeof TenantService>;
  readonly wallets: Client<typeof WalletService>;
  readonly senderIds: Client<typeof SenderIdService>;
};

async function addTenant({ tenants, wallets, senderIds }: Clients): Promise<string> {
  const limits = { rateLimit: LIMIT, burst: 2 * LIMIT };
  const { tenant } = await tenants.createTenant({ name: `Growth ${newId("tenant")}`, ...limits });
  const tenantId = tenant?.id ?? "";
  const [{ secret }] = await Promise.all([
    tenants.createApiKey({ tenantId, mode: Mode.LIVE }),
    senderIds.createSenderId({ tenantId, name: "GROWTH", approve: true }),
    wallets.createWallet({ tenantId, currency: "NGN" }),
  ]);
  const actor = { name: "bench", address: "" };
  await wallets.fundWallet({ tenantId, amount: 10n ** 12n, reference: "growth", actor });
  return secret;
}

/** Adds endpoints of other tenants, as many to each as it may have. */
export async function addEndpoints(stack: StackFile, from: number, to: number): Promise<void> {
  const target = stack.grpc.webhook ?? "";
  const transport = createGrpcJsTransport({ target, token: stack.grpc_token });
  const webhooks = createClient(WebhookService, transport);
  // The stack's own endpoint is the first of all.
  const wanted = to - Math.max(1, from);
  const tenants = Math.ceil(wanted / ENDPOINTS_OF_A_TENANT);
  await inLanes(tenants, async (at) => {
    const tenantId = newId("tenant");
    const count = Math.min(ENDPOINTS_OF_A_TENANT, wanted - at * ENDPOINTS_OF_A_TENANT);
    for (let index = 0; index < count; index += 1) {
      const url = `${stack.receiver.url.replace(/\/$/, "")}/${index}`;
      await webhooks.createEndpoint({ tenantId, url });
    }
  });
  transport.close();
}

async function inLanes(count: number, work: (at: number) => Promise<void>): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (next < count) {
        next += 1;
        await work(next - 1);
      }
    }),
  );
}
