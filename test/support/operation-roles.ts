/**
 * The roles that may call each operation of `/v1` in the console, written by hand from docs/contract.md and not taken
 * from the code. The test fails for an operation without a row.
 */
import type { Role } from "../../services/shared/core/roles.ts";

const ALL: readonly Role[] = ["owner", "developer", "sender", "finance", "viewer"];
const NOT_FINANCE: readonly Role[] = ["owner", "developer", "sender", "viewer"];
const SENDERS: readonly Role[] = ["owner", "developer", "sender"];
const DEVELOPERS: readonly Role[] = ["owner", "developer"];

/** By operation id. */
export const ROLES_OF_OPERATION: Readonly<Record<string, readonly Role[]>> = {
  getAccount: ALL,
  updateAccount: ["owner"],
  getBalance: ALL,
  listWalletEntries: ["owner", "finance"],
  getUsage: ALL,
  listAuditEntries: DEVELOPERS,

  listApiKeys: DEVELOPERS,
  getApiKey: DEVELOPERS,
  createApiKey: DEVELOPERS,
  revokeApiKey: DEVELOPERS,

  getMessage: ALL,
  listMessages: ALL,
  getMessageTimeline: ALL,
  sendMessage: SENDERS,
  sendMessageDeprecated: SENDERS,
  sendBulk: SENDERS,
  sendBatch: SENDERS,
  previewMessage: SENDERS,
  cancelMessage: SENDERS,

  listCampaigns: NOT_FINANCE,
  getCampaign: NOT_FINANCE,
  listCampaignRecipients: NOT_FINANCE,
  createCampaign: SENDERS,
  updateCampaign: SENDERS,
  deleteCampaign: SENDERS,
  addCampaignRecipients: SENDERS,
  removeCampaignRecipients: SENDERS,
  estimateCampaign: SENDERS,
  previewCampaign: SENDERS,
  testCampaign: SENDERS,
  startCampaign: SENDERS,
  pauseCampaign: SENDERS,
  resumeCampaign: SENDERS,
  cancelCampaign: SENDERS,

  listInboundMessages: NOT_FINANCE,
  getInboundMessage: NOT_FINANCE,
  listSuppressions: SENDERS,
  addSuppressions: SENDERS,
  removeSuppression: SENDERS,

  listSenderIds: NOT_FINANCE,
  requestSenderId: DEVELOPERS,

  listWebhookEndpoints: DEVELOPERS,
  getWebhookEndpoint: DEVELOPERS,
  createWebhookEndpoint: DEVELOPERS,
  updateWebhookEndpoint: DEVELOPERS,
  deleteWebhookEndpoint: DEVELOPERS,
  rotateWebhookSecret: DEVELOPERS,
  sendWebhookTest: DEVELOPERS,
  listWebhookDeliveries: DEVELOPERS,
  getWebhookDelivery: DEVELOPERS,
  resendWebhookDelivery: DEVELOPERS,
  recoverWebhookDeliveries: DEVELOPERS,
  listEvents: DEVELOPERS,
};
