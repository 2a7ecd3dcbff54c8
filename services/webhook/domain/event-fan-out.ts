/** Turns one domain event into webhook events, one per type. */
import type { EventType } from "../../shared/core/event-types.ts";
import type { MessageSourceName } from "../../shared/core/message-source.ts";
import type { MessageStatus } from "../../shared/core/message-status.ts";
import { derivedEventId } from "./deterministic-ids.ts";
import type { DomainEvent } from "./domain-event.ts";
import type { EndpointMode } from "./endpoint.ts";
import { isEventType } from "./event-types.ts";
import {
  campaignData,
  eventBody,
  inboundData,
  messageData,
  senderIdData,
  statusChangedData,
  suppressionData,
  walletData,
} from "./payloads.ts";

/** One event as endpoints receive it. */
export type WebhookEvent = {
  readonly tenantId: string;
  /** Only endpoints of this mode receive it; events of the account itself are live. */
  readonly mode: EndpointMode;
  readonly type: EventType;
  readonly source: MessageSourceName | undefined;
  /** When the change was recorded; see `DomainEvent`. */
  readonly recordedAtMs: number;
  /** W3C traceparent of the change, when it is traced. */
  readonly trace?: string | undefined;
  /** Whether the message's text is removed from the body when the delivery ends. */
  readonly redacts: boolean;
  /** The message that it is about, if it is about one. */
  readonly messageId?: string | undefined;
  /** Id and body are rendered at the first use and kept: most events have no subscriber. */
  eventId(): string;
  body(): string;
};

/** Statuses that make events. A recipient refused in the send response makes none. */
const REPORTED: ReadonlySet<MessageStatus> = new Set([
  "sent",
  "delivered",
  "undelivered",
  "expired",
  "rejected",
  "failed",
  "cancelled",
]);

/**
 * The webhook events of a domain event. A change of a message's status makes two:
 * `message.status_changed` under the event's own id, and `message.<status>` under a derived id, so
 * that a receiver of both can tell them apart.
 */
export function webhookEventsOf(change: DomainEvent): readonly WebhookEvent[] {
  switch (change.kind) {
    case "message": {
      const { message, previousStatus } = change;
      if (!REPORTED.has(message.status)) return [];
      const typed = `message.${message.status}`;
      return [
        ...webhookEvent(change, "message.status_changed", false, () =>
          statusChangedData(message, previousStatus),
        ),
        ...webhookEvent(change, typed, true, () => messageData(message, previousStatus)),
      ];
    }
    case "wallet": {
      const { type, wallet, amount, reference } = change;
      return webhookEvent(change, `wallet.${type}`, false, () =>
        walletData(type, wallet, amount, reference),
      );
    }
    case "sender_id": {
      const { type, senderId } = change;
      return webhookEvent(change, `sender_id.${type}`, false, () => senderIdData(senderId));
    }
    case "inbound":
      return webhookEvent(change, "inbound_message.received", false, () =>
        inboundData(change.message),
      );
    case "suppression": {
      const { type, suppression, inboundMessageId } = change;
      return webhookEvent(change, `recipient.${type}`, false, () =>
        suppressionData(suppression, inboundMessageId),
      );
    }
    case "campaign": {
      const { type, campaign, previousStatus } = change;
      return webhookEvent(change, `campaign.${type}`, false, () =>
        campaignData(campaign, previousStatus),
      );
    }
  }
}

/** One webhook event, or none when no endpoint can subscribe to the type. */
function webhookEvent(
  change: DomainEvent,
  type: string,
  isDerived: boolean,
  data: () => Readonly<Record<string, unknown>>,
): WebhookEvent[] {
  if (!isEventType(type)) return [];
  const { tenantId, occurredAtMs, recordedAtMs } = change;
  let id: string | undefined;
  let body: string | undefined;
  const eventId = () => {
    id ??= isDerived ? derivedEventId(change.id, type) : change.id;
    return id;
  };
  return [
    {
      tenantId,
      mode: modeOf(change),
      type,
      source: change.kind === "message" ? change.message.source : undefined,
      recordedAtMs,
      redacts: change.kind === "message" && change.redacts === true,
      messageId: change.kind === "message" ? change.message.id : undefined,
      eventId,
      body() {
        body ??= eventBody({ id: eventId(), tenantId, type, occurredAtMs }, data());
        return body;
      },
    },
  ];
}

function modeOf(change: DomainEvent): EndpointMode {
  if (change.kind === "message") return change.message.mode;
  return change.kind === "campaign" ? change.campaign.mode : "live";
}
