import { balanceEndpoint } from "./balance.ts";
import { type CancelPorts, cancelEndpoint } from "./messages/cancel.ts";
import { messageEndpoint } from "./messages/get.ts";
import { type ListPorts, listMessagesEndpoint } from "./messages/list.ts";
import type { Endpoint } from "./operation.ts";
import { type SenderIdPorts, senderIdsEndpoint } from "./sender-ids.ts";
import { type SendPorts, sendEndpoints } from "./sends/send.ts";
import { type DeliveryPorts, webhookDeliveries } from "./webhooks/deliveries.ts";
import { webhookEndpoints } from "./webhooks/endpoints.ts";

/** What the endpoints need of the world. */
export type EndpointPorts = SendPorts &
  CancelPorts &
  ListPorts &
  SenderIdPorts &
  DeliveryPorts & { readonly wallets: Parameters<typeof balanceEndpoint>[0] };

/** Every endpoint of the API, in the order of its documentation. */
export function createEndpoints(ports: EndpointPorts, keepsDeprecatedPath: boolean): Endpoint[] {
  return [
    ...sendEndpoints(ports, keepsDeprecatedPath),
    listMessagesEndpoint(ports),
    messageEndpoint(ports.messaging),
    cancelEndpoint(ports),
    balanceEndpoint(ports.wallets),
    senderIdsEndpoint(ports),
    ...webhookEndpoints(ports.webhooks),
    ...webhookDeliveries(ports),
  ];
}
