import { type AccountPorts, accountOperations } from "./account.ts";
import { type ApiKeyPorts, apiKeyOperations } from "./api-keys.ts";
import { type AuditPorts, listAuditEntriesOperation } from "./audit-entries.ts";
import { balanceOperation } from "./balance.ts";
import { type CampaignPorts, campaignOperations } from "./campaigns/all-campaigns.ts";
import { type EventPorts, listEventsOperation } from "./events.ts";
import { type InboundPorts, inboundOperations } from "./inbound-messages.ts";
import { type CancelPorts, cancelOperation } from "./messages/cancel.ts";
import { getMessageOperation } from "./messages/get.ts";
import { type ListPorts, listMessagesOperation } from "./messages/list.ts";
import { timelineOperation } from "./messages/timeline.ts";
import type { Operation } from "./operation.ts";
import {
  listSenderIdsOperation,
  requestSenderIdOperation,
  type SenderIdPorts,
} from "./sender-ids.ts";
import { previewOperation } from "./sends/preview.ts";
import { type SendPorts, sendOperations } from "./sends/send.ts";
import { suppressionOperations } from "./suppressions.ts";
import { type UsagePorts, usageOperation } from "./usage.ts";
import { listWalletEntriesOperation, type StatementPorts } from "./wallet-entries.ts";
import { type DeliveryPorts, webhookDeliveryOperations } from "./webhooks/deliveries.ts";
import { webhookEndpointOperations } from "./webhooks/endpoints.ts";

/** The ports of all operations. */
export type OperationPorts = SendPorts &
  CancelPorts &
  ListPorts &
  SenderIdPorts &
  DeliveryPorts &
  CampaignPorts &
  ApiKeyPorts &
  AccountPorts &
  AuditPorts &
  StatementPorts &
  UsagePorts &
  EventPorts &
  InboundPorts & { readonly wallets: Parameters<typeof balanceOperation>[0] };

/** Every operation of the API, in the order of its documentation. */
export function createOperations(ports: OperationPorts, keepsDeprecatedPath: boolean): Operation[] {
  return [
    ...sendOperations(ports, keepsDeprecatedPath),
    previewOperation(ports),
    listMessagesOperation(ports),
    getMessageOperation(ports.messaging),
    timelineOperation(ports),
    cancelOperation(ports),
    balanceOperation(ports.wallets),
    listWalletEntriesOperation(ports),
    usageOperation(ports),
    listSenderIdsOperation(ports),
    requestSenderIdOperation(ports),
    ...webhookEndpointOperations(ports.webhooks),
    ...webhookDeliveryOperations(ports),
    listEventsOperation(ports),
    ...campaignOperations(ports),
    ...inboundOperations(ports),
    ...suppressionOperations(ports),
    ...apiKeyOperations(ports),
    ...accountOperations(ports),
    listAuditEntriesOperation(ports),
  ];
}
