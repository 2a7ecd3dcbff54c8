import type { Endpoint } from "./endpoint.ts";
import { balanceEndpoint } from "./routes/balance.ts";
import { type CancelPorts, cancelEndpoint } from "./routes/cancel.ts";
import { type ListPorts, listMessagesEndpoint } from "./routes/list-messages.ts";
import { messageEndpoint } from "./routes/messages.ts";
import { type SenderIdPorts, senderIdsEndpoint } from "./routes/sender-ids.ts";
import { type SendPorts, sendEndpoints } from "./routes/sends.ts";
import { type DeliveryPorts, webhookDeliveries } from "./routes/webhook-deliveries.ts";
import { webhookEndpoints } from "./routes/webhook-endpoints.ts";

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
