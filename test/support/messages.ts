/** Messages in every state, for tests of decisions. */

import type { AvailabilityOf, RouteState } from "../../services/messaging/domain/choose-route.ts";
import {
  type Decision,
  type FrozenRoute,
  type Message,
  moveTo,
} from "../../services/messaging/domain/message.ts";
import {
  type Timeouts,
  toSent,
  toUnknown,
} from "../../services/messaging/domain/queue-transitions.ts";
import { createQuietHours } from "../../services/messaging/domain/quiet-hours.ts";
import type { Receipt } from "../../services/messaging/domain/receipt.ts";
import type { MessageStatus } from "../../services/shared/core/message-status.ts";
import { idAt } from "./ids-at.ts";

/** When the messages of these tests are made. */
export const START_MS = 1_700_000_000_000;

export const TIMEOUTS: Timeouts = {
  queueMs: 14_400_000,
  unknownMs: 600_000,
  receiptMs: 259_200_000,
};

/** Looks up the availability of frozen routes by a function of the route; connectors stay as they were. */
export const availabilityBy =
  (of: (route: FrozenRoute) => RouteState): AvailabilityOf =>
  (route) => ({ state: of(route), connectorId: route.connectorId });

/** Every route is available. */
export const ALL_AVAILABLE = availabilityBy(() => "available");

/** A state with its phase, as tests name it. */
export type StateName =
  | "scheduled"
  | "waiting"
  | "quiet"
  | "sending"
  | "unknown"
  | Exclude<MessageStatus, "scheduled" | "queued">;

export const STATE_NAMES: readonly StateName[] = [
  "scheduled",
  "waiting",
  "quiet",
  "sending",
  "unknown",
  "sent",
  "delivered",
  "undelivered",
  "expired",
  "rejected",
  "failed",
  "cancelled",
];

/** How long a message in quiet hours waits. */
export const QUIET_MS = 3_600_000;

/** No quiet hours bind any message. */
export const NO_QUIET_HOURS = createQuietHours([]);
export const OPEN_GATE = {
  binds: () => false,
  isBusy: false,
  openSpanOf: () => undefined,
  takeOut: () => {},
};

const CLAIM = { id: "claim-1", carrierId: "carrier-1", atMs: START_MS + 10 };

/** A message that has just come to a state by the usual way. */
export function messageIn(state: StateName, overrides: Partial<Message> = {}): Message {
  return { ...build(state, overrides), ...overrides };
}

function build(state: StateName, overrides: Partial<Message>): Message {
  switch (state) {
    case "scheduled":
      return fresh({
        ...overrides,
        status: "scheduled",
        phase: undefined,
        queueUntilMs: undefined,
        scheduledAtMs: START_MS + 60_000,
        dueAtMs: START_MS + 60_000,
        history: [{ status: "scheduled", atMs: START_MS, error: undefined }],
      });
    case "rejected": {
      const error = { code: "invalid_recipient", message: "No." };
      return fresh({
        ...overrides,
        status: "rejected",
        error,
        phase: undefined,
        dueAtMs: undefined,
        heldAmount: 0n,
        routes: [],
        completedAtMs: START_MS,
        history: [{ status: "rejected", atMs: START_MS, error }],
      });
    }
    case "waiting":
      return fresh(overrides);
    case "quiet":
      return {
        ...fresh(overrides),
        phase: "quiet",
        quietUntilMs: START_MS + QUIET_MS,
        dueAtMs: undefined,
      };
    case "sending":
      return { ...fresh(overrides), phase: "sending", claim: CLAIM };
    case "unknown":
      return toUnknown(build("sending", overrides), START_MS + 20, TIMEOUTS).message;
    case "sent":
      return toSent(build("sending", overrides), START_MS + 30, TIMEOUTS).message;
    case "failed":
      return step(build("sending", overrides), "failed").message;
    case "cancelled":
      return step(build("waiting", overrides), "cancelled").message;
    default:
      return step(build("sent", overrides), state).message;
  }
}

const REASONS = {
  delivered: undefined,
  undelivered: "absent_subscriber",
  expired: "no_receipt",
  failed: "carrier_rejected",
  cancelled: "cancelled",
} as const;

function step(message: Message, status: keyof typeof REASONS): Decision {
  return moveTo({ message, events: [] }, status, START_MS + 40, REASONS[status]);
}

function fresh(overrides: Partial<Message>): Message {
  return {
    id: idAt("message", START_MS),
    trafficClass: "transactional",
    isConsentReply: false,
    tenantId: "ten_01ARZ3NDEKTSV4RRFFQ69G5FAV",
    mode: "live",
    source: "api",
    campaignId: undefined,
    keyId: undefined,
    country: "NG",
    reservationId: "rsv_01ARZ3NDEKTSV4RRFFQ69G5FAV",
    status: "queued",
    to: "+2348031234567",
    from: "Acme",
    body: "Hello",
    encoding: "gsm7",
    segments: 1,
    heldAmount: 50_000n,
    unitPrice: undefined,
    amount: undefined,
    currency: "NGN",
    clientReference: undefined,
    error: undefined,
    carrierCode: undefined,
    scheduledAtMs: undefined,
    sentAtMs: undefined,
    completedAtMs: undefined,
    updatedAtMs: START_MS,
    history: [{ status: "queued", atMs: START_MS, error: undefined }],
    routes: [
      { routeId: "rte_A", connectorId: "alpha", price: 40_000n },
      { routeId: "rte_B", connectorId: "beta", price: 50_000n },
    ],
    routeAt: 0,
    priority: "single",
    phase: "waiting",
    claim: undefined,
    attempts: 0,
    notBeforeMs: 0,
    queueUntilMs: START_MS + TIMEOUTS.queueMs,
    quietUntilMs: undefined,
    releasedAtMs: undefined,
    rejectsInQuietHours: false,
    dueAtMs: START_MS + TIMEOUTS.queueMs,
    receipts: { delivered: 0, failed: 0 },
    redact: false,
    trace: undefined,
    revision: 1,
    ...overrides,
  };
}

/** When a carrier says what became of a message. */
export const RECEIPT_MS = START_MS + 5000;

/** A receipt of a message's first segment. */
export function receipt(state: Receipt["state"], overrides: Partial<Receipt> = {}): Receipt {
  return {
    segment: 1,
    state,
    errorCode: state === "undelivered" ? "absent_subscriber" : "",
    carrierCode: "",
    occurredAtMs: RECEIPT_MS,
    ...overrides,
  };
}
