/** Sample bodies of events, keys in alphabetical order; a test validates each against its schema. */
import { compactSorted } from "../../../services/shared/core/canonical-json.ts";
import type { EventType } from "../../../services/shared/core/event-types.ts";
import type { MessageStatus } from "../../../services/shared/core/message-status.ts";
import { CAMPAIGN_EXAMPLE } from "./campaign-samples.ts";
import { INBOUND_EXAMPLE, SUPPRESSION_EXAMPLE } from "./consent-samples.ts";
import { BALANCE_EXAMPLE, MESSAGE_EXAMPLE, SENDER_ID_EXAMPLE } from "./samples.ts";

const ACCEPTED_AT = "2026-11-02T09:30:00.125Z";
const SENT_AT = "2026-11-02T09:30:00.310Z";
const ENDED_AT = "2026-11-02T09:30:02.480Z";

type Data = Readonly<Record<string, unknown>>;

function event(type: EventType, createdAt: string, data: Data): unknown {
  const sorted = compactSorted({
    api_version: "v1",
    created_at: createdAt,
    data,
    id: "evt_01M6DSG7HXT9W4M2N8R7C3D6EK",
    tenant_id: "ten_01M6DSG7HXT9W4M2N8R7C3D6EM",
    type,
  });
  return JSON.parse(sorted);
}

/** The differences between the sample messages, apart from the status. */
type Fate = {
  readonly status: MessageStatus;
  readonly previous: MessageStatus;
  /** When the change happened. */
  readonly at: string;
  /** Absent for a message that was never sent. */
  readonly sentAt?: string;
  readonly error?: { readonly code: string; readonly message: string };
};

/** An event with the full Message object. */
function messageEvent({ status, previous, at, sentAt, error }: Fate): unknown {
  const price = sentAt === undefined ? null : "4.0000";
  const object = {
    ...MESSAGE_EXAMPLE,
    status,
    unit_price: price,
    amount: price ?? "0.0000",
    error: error ?? null,
    sent_at: sentAt ?? null,
    completed_at: status === "sent" ? null : at,
    updated_at: at,
  };
  return event(`message.${status}` as EventType, at, { object, previous_status: previous });
}

/** An event of a delivered message. */
export const STATUS_CHANGED_EXAMPLE = event("message.status_changed", ENDED_AT, {
  object: {
    amount: "4.0000",
    body: "Your code is 123456",
    charge_state: "captured",
    created_at: ACCEPTED_AT,
    error_code: null,
    from: "Acme",
    id: "msg_01M6DSG7HXT9W4M2N8R7C3D6EF",
    object: "message",
    sent_at: SENT_AT,
    status: "delivered",
    to: "+2348031234567",
    unit_price: "4.0000",
    updated_at: ENDED_AT,
  },
  previous_status: "sent",
});

/** One event for each status that a message may reach. */
export const MESSAGE_EVENT_EXAMPLES = {
  sent: messageEvent({ status: "sent", previous: "queued", at: SENT_AT, sentAt: SENT_AT }),
  delivered: messageEvent({ status: "delivered", previous: "sent", at: ENDED_AT, sentAt: SENT_AT }),
  undelivered: messageEvent({
    status: "undelivered",
    previous: "sent",
    at: ENDED_AT,
    sentAt: SENT_AT,
    error: { code: "absent_subscriber", message: "The handset could not be reached." },
  }),
  expired: messageEvent({
    status: "expired",
    previous: "sent",
    at: "2026-11-05T09:30:00.310Z",
    sentAt: SENT_AT,
    error: { code: "no_receipt", message: "No delivery receipt arrived within the time allowed." },
  }),
  failed: messageEvent({
    status: "failed",
    previous: "queued",
    at: ENDED_AT,
    error: { code: "carrier_rejected", message: "The carrier refused the message." },
  }),
  cancelled: messageEvent({
    status: "cancelled",
    previous: "queued",
    at: ENDED_AT,
    error: { code: "cancelled", message: "The message was cancelled before it was sent." },
  }),
} as const;

function senderIdEvent(type: EventType, changed: Data): unknown {
  const {
    traffic_class: _class,
    use_case: _useCase,
    sample: _sample,
    ...shown
  } = SENDER_ID_EXAMPLE;
  return event(type, shown.updated_at, { object: { ...shown, ...changed } });
}

/** One event for each decision on a sender ID. */
export const SENDER_ID_EVENT_EXAMPLES = {
  approved: senderIdEvent("sender_id.approved", {}),
  rejected: senderIdEvent("sender_id.rejected", {
    status: "rejected",
    usable: false,
    rejection_reason: "The name belongs to another company.",
  }),
  suspended: senderIdEvent("sender_id.suspended", { status: "suspended", usable: false }),
  reinstated: senderIdEvent("sender_id.reinstated", {}),
} as const;

function campaignEvent(type: EventType, previous: string, changed: Data): unknown {
  const object = { ...CAMPAIGN_EXAMPLE, ...changed };
  return event(type, CAMPAIGN_EXAMPLE.updated_at, { object, previous_status: previous });
}

const ENDED = { completed_at: CAMPAIGN_EXAMPLE.updated_at } as const;

/** One event for each change of a campaign. */
export const CAMPAIGN_EVENT_EXAMPLES = {
  started: campaignEvent("campaign.started", "draft", {}),
  paused: campaignEvent("campaign.paused", "running", {
    status: "paused",
    pause_reason: "insufficient_balance",
  }),
  resumed: campaignEvent("campaign.resumed", "paused", {}),
  completed: campaignEvent("campaign.completed", "running", { status: "completed", ...ENDED }),
  cancelled: campaignEvent("campaign.cancelled", "running", { status: "cancelled", ...ENDED }),
  failed: campaignEvent("campaign.failed", "paused", { status: "failed", ...ENDED }),
} as const;

/** A handset has written. */
export const INBOUND_EVENT_EXAMPLE = event("inbound_message.received", ACCEPTED_AT, {
  object: INBOUND_EXAMPLE,
});

/** A number was suppressed, and allowed again. */
export const OPT_EVENT_EXAMPLES = {
  out: event("recipient.opted_out", ACCEPTED_AT, {
    inbound_message_id: INBOUND_EXAMPLE.id,
    object: SUPPRESSION_EXAMPLE,
  }),
  in: event("recipient.opted_in", ACCEPTED_AT, {
    inbound_message_id: null,
    object: { ...SUPPRESSION_EXAMPLE, source: "api", reason: null },
  }),
} as const;

/** The wallet was funded. */
export const WALLET_FUNDED_EXAMPLE = event("wallet.funded", BALANCE_EXAMPLE.as_of, {
  amount: "20000.0000",
  object: BALANCE_EXAMPLE,
  reference: "invoice-2026-118",
});

/** The available balance is below the threshold. */
export const WALLET_LOW_EXAMPLE = event("wallet.low_balance", BALANCE_EXAMPLE.as_of, {
  object: { ...BALANCE_EXAMPLE, balance: "1110.0000", available: "990.0000" },
});

/** The event of the test operation. */
export const TEST_EVENT_EXAMPLE = event("webhook.test", ACCEPTED_AT, {
  object: { message: "This is a test event.", object: "webhook_test" },
});
