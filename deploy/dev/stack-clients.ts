import type { DescService } from "@bufbuild/protobuf";
import { type Client, createClient } from "@connectrpc/connect";
import { ConsentService } from "../../proto/gen/sms/v1/consent_pb.js";
import { RoutingService } from "../../proto/gen/sms/v1/routing_pb.js";
import { SenderIdService } from "../../proto/gen/sms/v1/sender_id_pb.js";
import { TenantService } from "../../proto/gen/sms/v1/tenant_pb.js";
import { WalletService } from "../../proto/gen/sms/v1/wallet_pb.js";
import { WebhookService } from "../../proto/gen/sms/v1/webhook_pb.js";
import { createGrpcJsTransport, type RpcTransport } from "../../services/shared/rpc/transport.ts";
import { grpcPort } from "./port-layout.ts";
import type { StackState } from "./stack-file.ts";

/** Clients of the services that the seed fills. */
export type StackClients = {
  readonly tenants: Client<typeof TenantService>;
  readonly senderIds: Client<typeof SenderIdService>;
  readonly wallets: Client<typeof WalletService>;
  readonly routing: Client<typeof RoutingService>;
  readonly webhooks: Client<typeof WebhookService>;
  readonly consents: Client<typeof ConsentService>;
  readonly close: () => void;
};

/** Opens a channel to each service of a running stack. */
export function openClients(state: StackState, token: string): StackClients {
  const channels: RpcTransport[] = [];
  const open = <S extends DescService>(service: S, name: string): Client<S> => {
    const at = state.processes.findIndex((row) => row.services.includes(name));
    if (at < 0) throw new Error(`no process of the stack runs ${name}`);
    const target = `127.0.0.1:${grpcPort(state.portBase, at)}`;
    const transport = createGrpcJsTransport({ target, token, waitForReady: true });
    channels.push(transport);
    return createClient(service, transport);
  };
  return {
    tenants: open(TenantService, "tenant"),
    senderIds: open(SenderIdService, "sender-id"),
    wallets: open(WalletService, "wallet"),
    routing: open(RoutingService, "routing"),
    webhooks: open(WebhookService, "webhook"),
    consents: open(ConsentService, "consent"),
    close: () => {
      for (const channel of channels) channel.close();
    },
  };
}
