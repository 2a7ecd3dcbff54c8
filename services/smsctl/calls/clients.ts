import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { DescService } from "@bufbuild/protobuf";
import { type Client, createClient } from "@connectrpc/connect";
import { CampaignService } from "../../../proto/gen/sms/v1/campaign_pb.js";
import { ConsentService } from "../../../proto/gen/sms/v1/consent_pb.js";
import { MessagingService } from "../../../proto/gen/sms/v1/messaging_pb.js";
import { RoutingService } from "../../../proto/gen/sms/v1/routing_pb.js";
import { SenderIdService } from "../../../proto/gen/sms/v1/sender_id_pb.js";
import { TenantService } from "../../../proto/gen/sms/v1/tenant_pb.js";
import { WalletService } from "../../../proto/gen/sms/v1/wallet_pb.js";
import { WebhookService } from "../../../proto/gen/sms/v1/webhook_pb.js";
import { methodsOf, OPERATOR } from "../../shared/caller-methods.ts";
import { AppError } from "../../shared/core/errors.ts";
import { isWebAddress, list, text } from "../../shared/io/config.ts";
import { rpcTlsFilesOf } from "../../shared/io/tls-files.ts";
import { restrictMethods } from "../../shared/rpc/restrict-methods.ts";
import { createGrpcJsTransport, type RpcTransport } from "../../shared/rpc/transport.ts";
import { SERVICE_ADDRESSES } from "../../shared/service-addresses.ts";
import { withErrorSource } from "./transport-errors.ts";

/** The part of `.local/stack.json` that the command line needs. */
type StackFile = {
  readonly ops?: Record<string, string>;
  /** Comma-separated addresses by service name. */
  readonly grpc?: Record<string, string>;
  readonly operator_token?: string;
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
  readonly campaigns: Client<typeof CampaignService>;
  readonly consent: Client<typeof ConsentService>;
  close(): void;
};

/** Reads addresses and token from the environment or from `.local/stack.json`, never some from each. */
export function openClients(env: NodeJS.ProcessEnv): Clients {
  const addresses = readAddresses(env);
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
    const { name = "", setting = "" } = SERVICE_ADDRESSES[service.typeName] ?? {};
    const address = addresses.grpc[name];
    if (address === undefined || addresses.token === undefined) {
      throw new AppError(
        "service_unavailable",
        `Where is the ${name} service? Set ${setting} and RPC_TOKEN, or run make up.`,
      );
    }
    const transport = createGrpcJsTransport({
      target: list(text()).read(address),
      token: addresses.token,
      tls: rpcTlsFilesOf(env),
    });
    transports.push(transport);
    const named = withErrorSource(transport, `the ${name} service at ${address}`);
    const methods = methodsOf([OPERATOR], service.typeName);
    return createClient(service, restrictMethods(named, service, OPERATOR, methods));
  }

  return {
    tenants: client(TenantService),
    senderIds: client(SenderIdService),
    wallets: client(WalletService),
    routing: client(RoutingService),
    messaging: client(MessagingService),
    webhooks: client(WebhookService),
    campaigns: client(CampaignService),
    consent: client(ConsentService),
    close() {
      for (const transport of transports) transport.close();
    },
  };
}

/**
 * The URL of a carrier's ops port (`given`, else `CARRIER_OPS`, else the development stack's) and its
 * token. The stack's token is sent only to the stack's own port.
 */
export function carrierOps(
  env: NodeJS.ProcessEnv,
  given: string | undefined,
): { readonly url: string; readonly token: string } {
  const { ops, token: stackToken } = readAddresses(env);
  const url = given ?? ops;
  const token = url === ops ? stackToken : env.RPC_TOKEN || undefined;
  if (url !== undefined && !isWebAddress(url)) {
    throw new AppError(
      "validation_error",
      `"${url}" is no address of a carrier's ops port (http://host:port).`,
    );
  }
  if (url !== undefined && token !== undefined) return { url, token };
  const question = "Where is the carrier? Give --ops or set CARRIER_OPS, and RPC_TOKEN.";
  throw new AppError("service_unavailable", question);
}

/** The services' addresses and their token. */
type ServiceAddresses = {
  /** Comma-separated addresses by service name. */
  readonly grpc: Readonly<Record<string, string>>;
  readonly ops: string | undefined;
  readonly token: string | undefined;
};

/**
 * Uses a single source: if the file filled gaps of the environment, a misspelt setting would send the
 * command and the token to the development stack.
 */
function readAddresses(env: NodeJS.ProcessEnv): ServiceAddresses {
  const of = (name: string): string | undefined => env[name] || undefined;
  const services = Object.values(SERVICE_ADDRESSES);
  const names = [...services.map(({ setting }) => setting), "RPC_TOKEN", "CARRIER_OPS"];
  if (!names.some((name) => of(name) !== undefined)) {
    const { grpc = {}, ops, operator_token, grpc_token } = readStackFile();
    return { grpc, ops: ops?.carrier, token: operator_token ?? grpc_token };
  }
  const addresses = services.flatMap(({ name, setting }) => {
    const address = of(setting);
    return address === undefined ? [] : [[name, address] as const];
  });
  return { grpc: Object.fromEntries(addresses), ops: of("CARRIER_OPS"), token: of("RPC_TOKEN") };
}

/** The folder of the development stack: `STACK_DIR`, else `.local` of this checkout. */
export function stackFolder(): string {
  return process.env.STACK_DIR || join(import.meta.dirname, "../../../.local");
}

function readStackFile(): StackFile {
  const file = join(stackFolder(), "stack.json");
  if (!existsSync(file)) return {};
  try {
    return JSON.parse(readFileSync(file, "utf8")) as StackFile;
  } catch (error) {
    const { message } = error as Error;
    throw new AppError("validation_error", `${file} cannot be read: ${message}`);
  }
}
