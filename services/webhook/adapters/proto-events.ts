/** Maps protobuf events to domain events. */
import {
  type Campaign,
  CampaignStatus,
  QuietHoursPolicy,
} from "../../../proto/gen/sms/v1/campaign_pb.js";
import { Mode } from "../../../proto/gen/sms/v1/common_pb.js";
import {
  InboundAction,
  type InboundMessage,
  type Suppression,
} from "../../../proto/gen/sms/v1/consent_pb.js";
import type { Event } from "../../../proto/gen/sms/v1/events_pb.js";
import { Encoding, type Message } from "../../../proto/gen/sms/v1/messaging_pb.js";
import { type SenderId, SenderIdStatus } from "../../../proto/gen/sms/v1/sender_id_pb.js";
import type { Wallet } from "../../../proto/gen/sms/v1/wallet_pb.js";
import { idTimeMs } from "../../shared/core/ids.ts";
import { MESSAGE_SOURCES } from "../../shared/core/message-source.ts";
import { MESSAGE_STATUSES, type MessageStatus } from "../../shared/core/message-status.ts";
import type {
  CampaignView,
  DomainEvent,
  InboundView,
  MessageView,
  SenderIdView,
  SuppressionView,
  WalletView,
} from "../domain/domain-event.ts";

/** The event is of a newer version: another process of the rollout may read it. */
export class NewerEventError extends Error {}

/**
 * The domain event of a protobuf event. Throws `NewerEventError`, or `Error` when a required field
 * is missing.
 */
export function toDomainEvent({ id, tenantId, occurredAtMs, payload }: Event): DomainEvent {
  const atMs = Number(occurredAtMs);
  // The id was made when the change was recorded. A receipt may backdate the change itself.
  const head = { id, tenantId, occurredAtMs: atMs, recordedAtMs: Math.max(atMs, idTimeMs(id)) };
  switch (payload.case) {
    case "messageChanged": {
      const { message, previousStatus, redact } = payload.value;
      return {
        ...head,
        kind: "message",
        message: readMessage(present(message)),
        previousStatus: readStatus(previousStatus),
        redacts: redact,
      };
    }
    case "walletChanged": {
      const { type, wallet, amount, reference } = payload.value;
      return {
        ...head,
        kind: "wallet",
        type,
        wallet: readWallet(present(wallet)),
        amount,
        reference,
      };
    }
    case "senderIdChanged": {
      const { type, tenantSuspended } = payload.value;
      const senderId = readSenderId(present(payload.value.senderId), tenantSuspended);
      return { ...head, kind: "sender_id", type, senderId };
    }
    case "campaignChanged": {
      const { type, previousStatus, campaign } = payload.value;
      return {
        ...head,
        kind: "campaign",
        type,
        campaign: readCampaign(present(campaign)),
        previousStatus: readCampaignStatus(previousStatus),
      };
    }
    case "inboundReceived":
      return { ...head, kind: "inbound", message: readInbound(present(payload.value.message)) };
    case "suppressionChanged": {
      const { type, inboundMessageId } = payload.value;
      const suppression = readSuppression(present(payload.value.suppression));
      return { ...head, kind: "suppression", type, suppression, inboundMessageId };
    }
    default:
      throw new NewerEventError("the event has an unknown kind");
  }
}

function readMessage(message: Message): MessageView {
  return {
    id: message.id,
    mode: message.mode === Mode.TEST ? "test" : "live",
    status: readStatus(message.status),
    to: message.to,
    from: message.from,
    body: message.body,
    encoding: message.encoding === Encoding.UCS2 ? "ucs2" : "gsm7",
    segments: message.segments,
    heldAmount: message.heldAmount,
    unitPrice: message.unitPrice,
    amount: message.amount,
    currency: message.currency,
    clientReference: message.clientReference,
    campaignId: message.campaignId,
    source: MESSAGE_SOURCES[message.source - 1] ?? "api",
    error: message.error && { code: message.error.code, message: message.error.message },
    scheduledAtMs: Number(message.scheduledAtMs),
    createdAtMs: Number(message.createdAtMs),
    sentAtMs: Number(message.sentAtMs),
    completedAtMs: Number(message.completedAtMs),
    updatedAtMs: Number(message.updatedAtMs),
    hasHold: message.reservationId !== "" && message.mode !== Mode.TEST,
  };
}

/** The names are in the order of the protocol's numbers, which start after UNSPECIFIED. */
function readStatus(status: number): MessageStatus {
  const known = MESSAGE_STATUSES[status - 1];
  // Zero means that the field is missing.
  if (known === undefined && status > 0) {
    throw new NewerEventError("the event has an unknown status");
  }
  return present(known);
}

function readWallet(wallet: Wallet): WalletView {
  const { currency, balance, held, available, lowBalanceThreshold } = wallet;
  return {
    currency,
    balance,
    held,
    available,
    lowBalanceThreshold,
    asOfMs: Number(wallet.asOfMs),
  };
}

const SENDER_ID_STATUSES: Readonly<Record<SenderIdStatus, SenderIdView["status"] | undefined>> = {
  [SenderIdStatus.UNSPECIFIED]: undefined,
  [SenderIdStatus.PENDING]: "pending",
  [SenderIdStatus.APPROVED]: "approved",
  [SenderIdStatus.REJECTED]: "rejected",
  [SenderIdStatus.SUSPENDED]: "suspended",
};

function readSenderId(senderId: SenderId, isTenantSuspended: boolean): SenderIdView {
  return {
    id: senderId.id,
    name: senderId.name,
    status: present(SENDER_ID_STATUSES[senderId.status]),
    rejectionReason: senderId.rejectionReason,
    isUsable: !isTenantSuspended && senderId.status === SenderIdStatus.APPROVED,
    createdAtMs: Number(senderId.createdAtMs),
    updatedAtMs: Number(senderId.updatedAtMs),
  };
}

function readCampaign(campaign: Campaign): CampaignView {
  const content = present(campaign.content);
  const progress = present(campaign.progress);
  return {
    id: campaign.id,
    mode: campaign.mode === Mode.TEST ? "test" : "live",
    name: content.name,
    status: readCampaignStatus(campaign.status),
    pauseReason: campaign.pauseReason,
    from: content.from,
    body: content.body,
    sendAtMs: Number(content.sendAtMs),
    ratePerSecond: content.ratePerSecond,
    budget: content.budgetAmount,
    quietHours: QUIET_HOURS[content.quietHours],
    clientReference: content.clientReference,
    currency: campaign.currency,
    progress: Object.fromEntries(PROGRESS.map((name) => [name, Number(progress[name])])),
    heldAmount: progress.heldAmount,
    chargedAmount: progress.chargedAmount,
    createdAtMs: Number(campaign.createdAtMs),
    startedAtMs: Number(campaign.startedAtMs),
    endedAtMs: Number(campaign.endedAtMs),
    updatedAtMs: Number(campaign.updatedAtMs),
  };
}

function readInbound(message: InboundMessage): InboundView {
  const { id, from, to, body, parts, partsReceived } = message;
  return {
    ...{ id, from, to, body, parts, partsReceived },
    encoding: message.encoding === Encoding.UCS2 ? "ucs2" : "gsm7",
    action: ACTIONS[message.action],
    receivedAtMs: Number(message.receivedAtMs),
  };
}

const ACTIONS: Readonly<Record<InboundAction, string | undefined>> = {
  [InboundAction.UNSPECIFIED]: undefined,
  [InboundAction.OPT_OUT]: "opt_out",
  [InboundAction.OPT_IN]: "opt_in",
  [InboundAction.HELP]: "help",
};

function readSuppression(suppression: Suppression): SuppressionView {
  const { number, sender, source, reason } = suppression;
  return { number, sender, source, reason, createdAtMs: Number(suppression.createdAtMs) };
}

const PROGRESS = [
  "total",
  "rejected",
  "waiting",
  "queued",
  "sent",
  "delivered",
  "undelivered",
  "expired",
  "failed",
  "cancelled",
] as const;

const QUIET_HOURS: Readonly<Record<QuietHoursPolicy, "hold" | "reject" | undefined>> = {
  [QuietHoursPolicy.UNSPECIFIED]: undefined,
  [QuietHoursPolicy.HOLD]: "hold",
  [QuietHoursPolicy.REJECT]: "reject",
};

/** The names of the protocol in lower case are those of the REST API. */
function readCampaignStatus(status: CampaignStatus): string {
  const name: string | undefined = CampaignStatus[status];
  if (name === undefined) throw new NewerEventError("the event has an unknown status");
  return name.toLowerCase();
}

function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("a required field of the event is missing");
  return value;
}
