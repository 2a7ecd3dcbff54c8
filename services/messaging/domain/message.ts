import { AppError } from "../../shared/core/errors.ts";
import type { MessageSourceName } from "../../shared/core/message-source.ts";
import {
  isFinalStatus,
  MESSAGE_MOVES,
  type MessageStatus,
} from "../../shared/core/message-status.ts";
import type { Encoding } from "../../shared/core/segments.ts";
import { isLegalMove } from "../../shared/core/state-table.ts";
import type { TrafficClass } from "../../shared/core/traffic-class.ts";
import { type Reason, type ReasonCode, reasonFor } from "./failure-reasons.ts";

/** Whether a message is real, or carried by the built-in simulator at price zero. */
export const MESSAGE_MODES = ["live", "test"] as const;

export type MessageMode = (typeof MESSAGE_MODES)[number];

/**
 * The phase of a `queued` message:
 * - `waiting`: in a connector's queue. Only here it can be claimed; here and while `quiet` it can be cancelled.
 * - `quiet`: in no queue until the recipient's quiet hours end (`quiet-hours.ts`). It does not age.
 * - `sending`: claimed by a carrier. An outcome ends it, or the end of the carrier's lease.
 * - `unknown`: bytes may have reached a carrier that never answered. It is never sent again: it
 *   waits for proof (a receipt, a late outcome) and then fails with `submission_unknown`.
 */
export type QueuePhase = "waiting" | "quiet" | "sending" | "unknown";

/** Single sends go before bulk ones in each connector's queue. */
export type PriorityClass = "single" | "bulk";

/** One status the message has had. */
export type StatusChange = {
  readonly status: MessageStatus;
  readonly atMs: number;
  readonly error: Reason | undefined;
};

/** A route that can carry the message, frozen at acceptance; the price is per segment. */
export type FrozenRoute = {
  readonly routeId: string;
  readonly connectorId: string;
  readonly price: bigint;
};

/** The carrier that sends the message. Each claim has a new `id`. */
export type Claim = {
  readonly id: string;
  readonly carrierId: string;
  readonly atMs: number;
  /** Where quiet hours bind the message: the span around the claim in which its first part may be submitted. */
  readonly openSpan?: OpenSpan | undefined;
};

/** A span of time: from `fromMs`, before `untilMs`. */
export type OpenSpan = { readonly fromMs: number; readonly untilMs: number };

/** Segments with a receipt, as bits: segment n is bit n - 1. */
export type SegmentReceipts = {
  readonly delivered: number;
  readonly failed: number;
  /** A receipt proved that the carrier has a part while others were still being submitted. */
  readonly isTaken?: true;
  /** A part was refused or will not be submitted; only a receipt of that part can complete the message. */
  readonly isIncomplete?: true;
  /** The submits that receipts have named, if there are several. */
  readonly parts?: readonly KnownPart[];
};

/** A submit by its key, with the segment of its receipts. */
export type KnownPart = {
  readonly key: string;
  readonly segment: number;
  readonly guessed?: true;
};

/** A message. Amounts are in 1/10,000 of the currency unit. */
export type Message = {
  readonly id: string;
  readonly tenantId: string;
  readonly mode: MessageMode;
  readonly source: MessageSourceName;
  readonly campaignId: string | undefined;
  /** The API key that sent it; undefined for internal callers and for messages of version 0.2.0. */
  readonly keyId: string | undefined;
  /**
   * The recipient's country: ISO 3166 code, `ZZ` for text that is no number; undefined for messages of version 0.2.0.
   */
  readonly country: string | undefined;
  /** Undefined when nothing was held: zero price, test mode, rejected. */
  readonly reservationId: string | undefined;
  readonly status: MessageStatus;
  readonly to: string;
  readonly from: string;
  readonly body: string;
  readonly encoding: Encoding;
  readonly segments: number;
  readonly heldAmount: bigint;
  /** The price per segment on the carrying route; undefined until sent. */
  readonly unitPrice: bigint | undefined;
  readonly amount: bigint | undefined;
  readonly currency: string;
  readonly clientReference: string | undefined;
  readonly trafficClass: TrafficClass;
  /** The confirmation of an opt-out, which the opt-out does not block. */
  readonly isConsentReply: boolean;
  readonly error: Reason | undefined;
  /** The carrier's raw code, for operators. */
  readonly carrierCode: string | undefined;
  readonly scheduledAtMs: number | undefined;
  readonly sentAtMs: number | undefined;
  readonly completedAtMs: number | undefined;
  readonly updatedAtMs: number;
  /** Oldest first; one entry per status the message has had. */
  readonly history: readonly StatusChange[];
  /** In the order of attempts; empty for rejected messages. */
  readonly routes: readonly FrozenRoute[];
  /** The position of the current route in `routes`. */
  readonly routeAt: number;
  readonly priority: PriorityClass;
  /** Defined exactly while `queued`. */
  readonly phase: QueuePhase | undefined;
  /** The last claim; kept after sending so that a repeated outcome is recognised. */
  readonly claim: Claim | undefined;
  /**
   * Submits that failed with a system error since the last failover; throttling does not count. A rerouted
   * message keeps the count.
   */
  readonly attempts: number;
  /** The earliest instant of a claim; 0 means at once. */
  readonly notBeforeMs: number;
  /** When the wait in a queue ends with `queue_expired`; undefined until queued. */
  readonly queueUntilMs: number | undefined;
  /** When the quiet hours that hold the message end; defined exactly while `quiet`. */
  readonly quietUntilMs: number | undefined;
  /** When the message came back into its queue after quiet hours: the start of its wait. */
  readonly releasedAtMs: number | undefined;
  /**
   * True: fail in quiet hours instead of waiting for their end. The tenant's or the campaign's policy at acceptance.
   */
  readonly rejectsInQuietHours: boolean;
  /** When the state ends by time; see `timeouts.ts`. */
  readonly dueAtMs: number | undefined;
  readonly receipts: SegmentReceipts;
  /** Remove the body at the final status. */
  readonly redact: boolean;
  /** W3C traceparent of the call that accepted the message; only if its trace is recorded. */
  readonly trace: string | undefined;
  /** Incremented by each write. */
  readonly revision: number;
};

/** A published status change, with the message right after it. */
export type StatusEvent = { readonly previous: MessageStatus; readonly message: Message };

/** The result of a decision. Without a change, `message` is the same object as before. */
export type Decision = { readonly message: Message; readonly events: readonly StatusEvent[] };

/** The decision to leave a message as it is. */
export function unchanged(message: Message): Decision {
  return { message, events: [] };
}

/** Statuses that are published as events. */
const PUBLISHED: ReadonlySet<MessageStatus> = new Set([
  "sent",
  "delivered",
  "undelivered",
  "expired",
  "failed",
  "cancelled",
]);

/**
 * Moves the message of a decision to another status, along the table in `message-status.ts`. Appends to the
 * history, sets the completion time of final statuses, and adds the event of published ones. `facts` are further
 * changed fields. Throws if the table has no such move.
 */
export function moveTo(
  decision: Decision,
  status: MessageStatus,
  atMs: number,
  reason?: ReasonCode,
  facts: Partial<Message> = {},
): Decision {
  const before = decision.message;
  if (!isLegalMove(MESSAGE_MOVES, before.status, status)) {
    throw new AppError(
      "invalid_state_transition",
      `A message that is ${before.status} cannot become ${status}.`,
    );
  }
  // Clocks of hosts differ; keep the history in order.
  const occurredMs = Math.max(atMs, before.history.at(-1)?.atMs ?? atMs);
  const error = reason === undefined ? undefined : reasonFor(reason);
  const isFinal = isFinalStatus(status);
  const message: Message = {
    ...before,
    phase: undefined,
    quietUntilMs: undefined,
    dueAtMs: undefined,
    ...facts,
    status,
    error,
    body: isFinal && before.redact ? "" : before.body,
    completedAtMs: isFinal ? occurredMs : undefined,
    updatedAtMs: occurredMs,
    history: [...before.history, { status, atMs: occurredMs, error }],
  };
  if (!PUBLISHED.has(status)) return { message, events: decision.events };
  return { message, events: [...decision.events, { previous: before.status, message }] };
}

/** The route being tried, or the one that carried the message. */
export function currentRoute(message: Message): FrozenRoute | undefined {
  return message.routes[message.routeAt];
}

/** True if the message belongs to a campaign; then it can be cancelled only with the campaign. */
export function isCampaignMessage(message: Message): boolean {
  return message.source === "campaign";
}
