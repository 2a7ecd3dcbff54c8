import { balanceOperation } from "./balance.ts";
import { type CampaignPorts, campaignOperations } from "./campaigns/all-campaigns.ts";
import { type InboundPorts, inboundOperations } from "./inbound-messages.ts";
import { type CancelPorts, cancelOperation } from "./messages/cancel.ts";
import { getMessageOperation } from "./messages/get.ts";
import { type ListPorts, listMessagesOperation } from "./messages/list.ts";
import type { Operation } from "./operation.ts";
import { listSenderIdsOperation, type SenderIdPorts } from "./sender-ids.ts";
import { type SendPorts, sendOperations } from "./sends/send.ts";
import { suppressionOperations } from "./suppressions.ts";
import { type DeliveryPorts, webhookDeliveryOperations } from "./webhooks/deliveries.ts";
import { webhookEndpointOperations } from "./webhooks/endpoints.ts";

/** The ports of all operations. */
export type OperationPorts = SendPorts &
  CancelPorts &
  ListPorts &
  SenderIdPorts &
  DeliveryPorts &
  CampaignPorts &
  InboundPorts & { readonly wallets: Parameters<typeof balanceOperation>[0] };

/** Every operation of the API, in the order of its documentation. */
export function createOperations(ports: OperationPorts, keepsDeprecatedPath: boolean): Operation[] {
  return [
    ...sendOperations(ports, keepsDeprecatedPath),
    listMessagesOperation(ports),
    getMessageOperation(ports.messaging),
    cancelOperation(ports),
    balanceOperation(ports.wallets),
    listSenderIdsOperation(ports),
    ...webhookEndpointOperations(ports.webhooks),
    ...webhookDeliveryOperations(ports),
    ...campaignOperations(ports),
    ...inboundOperations(ports),
    ...suppressionOperations(ports),
  ];
}
