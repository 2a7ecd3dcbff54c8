import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { DescService } from "@bufbuild/protobuf";
import { type Client, createClient } from "@connectrpc/connect";
import { MessagingService } from "../../proto/gen/sms/v1/messaging_pb.js";
import { RoutingService } from "../../proto/gen/sms/v1/routing_pb.js";
import { SenderIdService } from "../../proto/gen/sms/v1/sender_id_pb.js";
import { TenantService } from "../../proto/gen/sms/v1/tenant_pb.js";
import { WalletService } from "../../proto/gen/sms/v1/wallet_pb.js";
import { WebhookService } from "../../proto/gen/sms/v1/webhook_pb.js";
import { AppError } from "../shared/core/errors.ts";
import { rpcTlsFilesOf } from "../shared/io/tls-files.ts";
import { createGrpcJsTransport, type RpcTransport } from "../shared/rpc/transport.ts";
import { SERVICE_ADDRESSES } from "../shared/service-addresses.ts";

/** The part of `.local/stack.json` that the command line needs. */
type StackFile = {
  readonly ops?: Record<string, string>;
  readonly grpc?: Record<string, string>;
  readonly grpc_token?: string;
};

/** Clients of every service, connected when first used. */
export type Clients = {
  readonly tenants: Client<typeof TenantService>;
  readonly senderIds: Client<typeof SenderIdService>;
  readonly wallets: Client<typeof WalletService>;
  readonly routing: Client<typeof RoutingService>;
  readonly messaging: Client<typeof MessagingService>;
  readonly webhooks: Client<typeof WebhookService>;
  close(): void;
};

/** Addresses and token come from the environment, else from `.local/stack.json`. */
export function openClients(env: NodeJS.ProcessEnv): Clients {
  const stack = readStackFile();
  const token = env.RPC_TOKEN ?? stack.grpc_token;
  const transports: RpcTransport[] = [];

  function client<S extends DescService>(service: S): Client<S> {
    let made: Client<S> | undefined;
    return new Proxy({} as Client<S>, {
      get(_target, method) {
        made ??= connect(service);
        return made[method as keyof Client<S>];
      },
    });
  }

  function connect<S extends DescService>(service: S): Client<S> {
    const place = SERVICE_ADDRESSES[service.typeName];
    const address = env[place?.setting ?? ""] ?? stack.grpc?.[place?.name ?? ""];
    if (address === undefined || token === undefined) {
      throw new AppError(
        "service_unavailable",
        `Where is the ${place?.name} service? Set ${place?.setting} and RPC_TOKEN, or run make up.`,
      );
    }
    const transport = createGrpcJsTransport({ target: address, token, tls: rpcTlsFilesOf(env) });
    transports.push(transport);
    return createClient(service, transport);
  }

  return {
    tenants: client(TenantService),
    senderIds: client(SenderIdService),
    wallets: client(WalletService),
    routing: client(RoutingService),
    messaging: client(MessagingService),
    webhooks: client(WebhookService),
    close() {
      for (const transport of transports) transport.close();
    },
  };
}

/** A carrier's ops port (`given`, else `CARRIER_OPS`, else the development stack's) and the token for it. */
export function carrierOps(
  env: NodeJS.ProcessEnv,
  given: string | undefined,
): { readonly url: string; readonly token: string } {
  const stack = readStackFile();
  const url = given ?? env.CARRIER_OPS ?? stack.ops?.carrier;
  const token = env.RPC_TOKEN ?? stack.grpc_token;
  if (url !== undefined && token !== undefined) return { url, token };
  const text = "Where is the carrier? Give --ops or set CARRIER_OPS, and RPC_TOKEN.";
  throw new AppError("service_unavailable", text);
}

/** Where the development stack keeps its files: `STACK_DIR`, else `.local` of this checkout. */
export function stackFolder(): string {
  return process.env.STACK_DIR ?? join(import.meta.dirname, "../../.local");
}

function readStackFile(): StackFile {
  const file = join(stackFolder(), "stack.json");
  if (!existsSync(file)) return {};
  return JSON.parse(readFileSync(file, "utf8")) as StackFile;
}
