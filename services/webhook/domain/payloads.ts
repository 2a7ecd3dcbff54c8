/**
 * The bodies of events (`docs/contract.md#webhooks`): compact JSON, keys in alphabetical order at
 * every level. A body is rendered once per event, so every attempt sends the same bytes.
 */
import { compactSorted } from "../../shared/core/canonical-json.ts";
import type { EventType } from "../../shared/core/event-types.ts";
import type { MessageStatus } from "../../shared/core/message-status.ts";
import { formatAmount } from "../../shared/core/money.ts";
import { formatInstant } from "../../shared/core/rfc3339.ts";
import type {
  CampaignView,
  InboundView,
  MessageView,
  SenderIdView,
  SuppressionView,
  WalletView,
} from "./domain-event.ts";

/** Version of the payloads; it equals the version of the REST API. */
const API_VERSION = "v1";

/** The outer members of every event's body. */
export type Envelope = {
  readonly id: string;
  readonly tenantId: string;
  readonly type: EventType;
  /** When the change happened. */
  readonly occurredAtMs: number;
};

/** One event's body. */
export function eventBody(envelope: Envelope, data: Readonly<Record<string, unknown>>): string {
  return compactSorted({
    api_version: API_VERSION,
    created_at: formatInstant(envelope.occurredAtMs),
    data,
    id: envelope.id,
    tenant_id: envelope.tenantId,
    type: envelope.type,
  });
}

/** The body of a message's event without the message's text. */
export function withoutText(body: string): string {
  const event = JSON.parse(body);
  if (typeof event?.data?.object?.body === "string") event.data.object.body = "";
  return compactSorted(event);
}

/** The state of a message's charge. */
export type ChargeState = "held" | "captured" | "released" | "none";

const CHARGE_STATES: Readonly<Record<MessageStatus, ChargeState>> = {
  scheduled: "held",
  queued: "held",
  sent: "captured",
  delivered: "captured",
  undelivered: "captured",
  expired: "captured",
  rejected: "released",
  failed: "released",
  cancelled: "released",
};

/**
 * The charge state follows the message's status (`docs/contract.md#statuses`); the wallet follows
 * at settlement. A message without a hold has none.
 */
function chargeState(message: Pick<MessageView, "hasHold" | "status">): ChargeState {
  return message.hasHold ? CHARGE_STATES[message.status] : "none";
}

/** `data` of `message.status_changed`, exactly as the contract says. */
export function statusChangedData(message: MessageView, previousStatus: MessageStatus) {
  return {
    object: {
      amount: formatAmount(message.amount ?? 0n),
      body: message.body,
      charge_state: chargeState(message),
      created_at: formatInstant(message.createdAtMs),
      error_code: message.error?.code ?? null,
      from: message.from,
      id: message.id,
      object: "message",
      sent_at: instantOrNull(message.sentAtMs),
      status: message.status,
      to: message.to,
      unit_price: amountOrNull(message.unitPrice),
      updated_at: formatInstant(message.updatedAtMs),
    },
    previous_status: previousStatus,
  };
}

/** Final statuses of a message that no carrier accepted: it costs nothing. */
const NEVER_SENT: ReadonlySet<MessageStatus> = new Set(["rejected", "failed", "cancelled"]);

/** `data` of `message.<status>`: the full Message object of the contract. */
export function messageData(message: MessageView, previousStatus: MessageStatus) {
  return {
    object: {
      id: message.id,
      object: "message",
      mode: message.mode,
      channel: "sms",
      direction: "outbound",
      status: message.status,
      to: message.to,
      from: message.from,
      body: message.body,
      encoding: message.encoding,
      segments: message.segments,
      held_amount: formatAmount(message.heldAmount),
      unit_price: amountOrNull(message.unitPrice),
      amount: amountOrNull(message.amount ?? (NEVER_SENT.has(message.status) ? 0n : undefined)),
      currency: message.currency,
      client_reference: textOrNull(message.clientReference),
      campaign_id: textOrNull(message.campaignId),
      source: message.source,
      error: message.error === undefined ? null : { ...message.error },
      scheduled_at: instantOrNull(message.scheduledAtMs),
      created_at: formatInstant(message.createdAtMs),
      sent_at: instantOrNull(message.sentAtMs),
      completed_at: instantOrNull(message.completedAtMs),
      updated_at: formatInstant(message.updatedAtMs),
    },
    previous_status: previousStatus,
  };
}

/** `data` of `wallet.*`: the Balance object; `funded` adds the amount received. */
export function walletData(type: string, wallet: WalletView, amount: bigint, reference: string) {
  const object = {
    object: "balance",
    currency: wallet.currency,
    balance: formatAmount(wallet.balance),
    held: formatAmount(wallet.held),
    available: formatAmount(wallet.available),
    low_balance_threshold: formatAmount(wallet.lowBalanceThreshold),
    as_of: formatInstant(wallet.asOfMs),
  };
  if (type !== "funded") return { object };
  return { amount: formatAmount(amount), object, reference: textOrNull(reference) };
}

/** `data` of `sender_id.*`: the sender ID object of the list. */
export function senderIdData(senderId: SenderIdView) {
  return {
    object: {
      id: senderId.id,
      object: "sender_id",
      name: senderId.name,
      status: senderId.status,
      usable: senderId.isUsable,
      rejection_reason: textOrNull(senderId.rejectionReason),
      created_at: formatInstant(senderId.createdAtMs),
      updated_at: formatInstant(senderId.updatedAtMs),
    },
  };
}

/** `data` of `campaign.*`: the campaign of the REST API. */
export function campaignData(campaign: CampaignView, previousStatus: string) {
  return {
    object: {
      id: campaign.id,
      object: "campaign",
      mode: campaign.mode,
      name: campaign.name,
      status: campaign.status,
      pause_reason: textOrNull(campaign.pauseReason),
      from: campaign.from,
      body: campaign.body,
      send_at: instantOrNull(campaign.sendAtMs),
      rate_per_second: campaign.ratePerSecond || null,
      budget_amount: amountOrNull(campaign.budget),
      quiet_hours: campaign.quietHours ?? null,
      client_reference: textOrNull(campaign.clientReference),
      currency: campaign.currency,
      progress: {
        ...campaign.progress,
        held_amount: formatAmount(campaign.heldAmount),
        charged_amount: formatAmount(campaign.chargedAmount),
      },
      created_at: formatInstant(campaign.createdAtMs),
      started_at: instantOrNull(campaign.startedAtMs),
      completed_at: instantOrNull(campaign.endedAtMs),
      updated_at: formatInstant(campaign.updatedAtMs),
    },
    previous_status: previousStatus,
  };
}

/** `data` of `inbound_message.received`. */
export function inboundData(message: InboundView) {
  return {
    object: {
      id: message.id,
      object: "inbound_message",
      from: message.from,
      to: message.to,
      body: message.body,
      encoding: message.encoding,
      parts: message.parts,
      complete: message.partsReceived === message.parts,
      action: message.action ?? null,
      received_at: formatInstant(message.receivedAtMs),
    },
  };
}

/** `data` of `recipient.opted_out` and `recipient.opted_in`. */
export function suppressionData(suppression: SuppressionView, inboundMessageId: string) {
  return {
    inbound_message_id: textOrNull(inboundMessageId),
    object: {
      object: "suppression",
      number: suppression.number,
      sender_id: textOrNull(suppression.sender),
      source: suppression.source,
      reason: textOrNull(suppression.reason),
      created_at: formatInstant(suppression.createdAtMs),
    },
  };
}

/** `data` of `webhook.test`. */
export function testData() {
  return { object: { message: "This is a test event.", object: "webhook_test" } };
}

function textOrNull(text: string): string | null {
  return text === "" ? null : text;
}

function amountOrNull(amount: bigint | undefined): string | null {
  return amount === undefined ? null : formatAmount(amount);
}

function instantOrNull(instantMs: number): string | null {
  return instantMs === 0 ? null : formatInstant(instantMs);
}
