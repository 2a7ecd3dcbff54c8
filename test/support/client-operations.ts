/** One call of the TypeScript client for each operation of the API. */
import type { SmsClient } from "../../clients/typescript/src/client.ts";

type Call = (sms: SmsClient) => Promise<unknown> | AsyncIterable<unknown>;

const ID = "an id/with a slash";

/** By operation id. An operation without a row fails `test/integration/clients/operations.test.ts`. */
export const CLIENT_CALLS: Readonly<Record<string, Call>> = {
  sendMessage: (sms) => sms.messages.send({ to: "1", from: "Acme", body: "Hi" }),
  sendBulk: (sms) => sms.messages.sendBulk({ to: ["1"], from: "Acme", body: "Hi" }),
  sendBatch: (sms) => sms.messages.sendBatch({ from: "Acme", messages: [] }),
  listMessages: (sms) => sms.messages.list({ status: ["queued"], limit: 2 }),
  getMessage: (sms) => sms.messages.get(ID),
  cancelMessage: (sms) => sms.messages.cancel(ID),
  getMessageTimeline: (sms) => sms.messages.timeline(ID),
  previewMessage: (sms) => sms.messages.preview({ body: "Hi" }),
  listWalletEntries: (sms) => sms.wallet.entries({ limit: 2 }),
  getUsage: (sms) => sms.usage.get({ group_by: "day" }),
  getAccount: (sms) => sms.account.get(),
  updateAccount: (sms) => sms.account.update({ redact_bodies: true }),
  listAuditEntries: (sms) => sms.account.auditEntries({ limit: 2 }),
  listApiKeys: (sms) => sms.apiKeys.list(),
  createApiKey: (sms) => sms.apiKeys.create({ scopes: ["balance:read"] }),
  getApiKey: (sms) => sms.apiKeys.get(ID),
  revokeApiKey: (sms) => sms.apiKeys.revoke(ID),
  requestSenderId: (sms) => sms.senderIds.request({ name: "Acme", use_case: "A", sample: "B" }),
  getWebhookDelivery: (sms) => sms.webhookEndpoints.getDelivery(ID, ID),
  getBalance: (sms) => sms.balance.get(),
  listSenderIds: (sms) => sms.senderIds.list({ usable: true }),
  listWebhookEndpoints: (sms) => sms.webhookEndpoints.list(),
  createWebhookEndpoint: (sms) => sms.webhookEndpoints.create({ url: "https://example.com" }),
  getWebhookEndpoint: (sms) => sms.webhookEndpoints.get(ID),
  updateWebhookEndpoint: (sms) => sms.webhookEndpoints.update(ID, { status: "disabled" }),
  deleteWebhookEndpoint: (sms) => sms.webhookEndpoints.delete(ID),
  rotateWebhookSecret: (sms) => sms.webhookEndpoints.rotateSecret(ID),
  listWebhookDeliveries: (sms) => sms.webhookEndpoints.listDeliveries(ID, { limit: 1 }),
  resendWebhookDelivery: (sms) => sms.webhookEndpoints.resendDelivery(ID, ID),
  recoverWebhookDeliveries: (sms) => sms.webhookEndpoints.recover(ID, { since: "2026-11-01" }),
  sendWebhookTest: (sms) => sms.webhookEndpoints.sendTest(ID),
  listEvents: (sms) => sms.events.read({ limit: 2 }),
  listCampaigns: (sms) => sms.campaigns.list({ status: ["draft"] }),
  createCampaign: (sms) => sms.campaigns.create({ name: "A", from: "Acme", body: "Hi" }),
  getCampaign: (sms) => sms.campaigns.get(ID),
  updateCampaign: (sms) => sms.campaigns.update(ID, { name: "B" }),
  deleteCampaign: (sms) => sms.campaigns.delete(ID),
  addCampaignRecipients: (sms) => sms.campaigns.addRecipients(ID, { recipients: [{ to: "1" }] }),
  listCampaignRecipients: (sms) => sms.campaigns.listRecipients(ID),
  removeCampaignRecipients: (sms) => sms.campaigns.removeRecipients(ID),
  estimateCampaign: (sms) => sms.campaigns.estimate(ID),
  previewCampaign: (sms) => sms.campaigns.preview(ID, { limit: 1 }),
  testCampaign: (sms) => sms.campaigns.test(ID, { to: ["1"] }),
  startCampaign: (sms) => sms.campaigns.start(ID),
  pauseCampaign: (sms) => sms.campaigns.pause(ID),
  resumeCampaign: (sms) => sms.campaigns.resume(ID),
  cancelCampaign: (sms) => sms.campaigns.cancel(ID),
  listInboundMessages: (sms) => sms.inboundMessages.list({ from: "1" }),
  getInboundMessage: (sms) => sms.inboundMessages.get(ID),
  listSuppressions: (sms) => sms.suppressions.list({ number: "1" }),
  addSuppressions: (sms) => sms.suppressions.add({ suppressions: [{ number: "1" }] }),
  removeSuppression: (sms) => sms.suppressions.remove("+2348031234567", { sender_id: "Acme" }),
};

/** Executes a call to its end. */
export async function executeCall(sms: SmsClient, call: Call): Promise<void> {
  const result = call(sms);
  if (Symbol.asyncIterator in result) for await (const _ of result);
  else await result;
}
