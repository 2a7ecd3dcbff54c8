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
import {
  type ServiceAddresses,
  STACK_IS_DOWN,
  serviceAddresses,
  whyUnreachable,
} from "./addresses.ts";
import { withErrorSource } from "./transport-errors.ts";

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

/** Clients at the addresses of one source: addresses.ts. Reads them at the first call. */
export function openClients(env: NodeJS.ProcessEnv, contextName: string | undefined): Clients {
  let read: ServiceAddresses | undefined;
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
    read ??= serviceAddresses(env, contextName);
    const addresses = read;
    const address = addresses.grpc[name];
    if (address === undefined || addresses.token === undefined) {
      throw new AppError("service_unavailable", whereIs(name, setting, addresses));
    }
    const transport = createGrpcJsTransport({
      target: list(text()).read(address),
      token: addresses.token,
      tls: rpcTlsFilesOf(addresses.settings),
    });
    transports.push(transport);
    const named = withErrorSource(transport, {
      place: `${name} at ${address}`,
      whyUnreachable: () => whyUnreachable(addresses, name),
    });
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
 * The URL of a carrier's ops port (`given`, else that of the source) and its token. The token of a source is sent only
 * to its own port, unless the source is the environment.
 */
export function carrierOps(
  env: NodeJS.ProcessEnv,
  contextName: string | undefined,
  given: string | undefined,
): { readonly url: string; readonly token: string } {
  const addresses = serviceAddresses(env, contextName);
  const url = given ?? addresses.ops;
  const token = url === addresses.ops ? addresses.token : env.RPC_TOKEN || undefined;
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

function whereIs(name: string, setting: string, { source }: ServiceAddresses): string {
  if (source.kind === "stack")
    return `${STACK_IS_DOWN} (Or name other services: smsctl context set.)`;
  const where = source.kind === "context" ? `The context ${source.name}` : "The environment";
  return `${where} does not name ${name}: set ${setting} and RPC_TOKEN.`;
}
