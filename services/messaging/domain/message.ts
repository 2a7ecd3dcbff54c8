import { AppError } from "../../shared/core/errors.ts";
import type { MessageSourceName } from "../../shared/core/message-source.ts";
import {
  isFinalStatus,
  MESSAGE_MOVES,
  type MessageStatus,
} from "../../shared/core/message-status.ts";
import type { Encoding } from "../../shared/core/segments.ts";
import { isLegalMove } from "../../shared/core/state-table.ts";
import { type Reason, type ReasonCode, reasonFor } from "./failure-reasons.ts";

/** Whether a message is real, or carried by the built-in simulator at price zero. */
export const MESSAGE_MODES = ["live", "test"] as const;

/** One of them. */
export type MessageMode = (typeof MESSAGE_MODES)[number];

/**
 * Where a `queued` message stands:
 * - `waiting`: in a connector's queue. Only here a cancel can win, or a carrier claim it.
 * - `sending`: claimed by a carrier. Left by its outcome, or when the carrier falls silent.
 * - `unknown`: bytes may have reached a carrier that never answered. It is never sent again: it
 *   waits for proof (a receipt, a late outcome) and then fails with `submission_unknown`.
 */
export type QueuePhase = "waiting" | "sending" | "unknown";

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

/** Who is sending the message. `id` is new with each claim. */
export type Claim = { readonly id: string; readonly carrierId: string; readonly atMs: number };

/** Segments with a receipt, as bits: segment n is bit n - 1. */
export type SegmentReceipts = {
  readonly delivered: number;
  readonly failed: number;
  /** The carrier has shown to have a part, while others were still being submitted. */
  readonly isTaken?: true;
  /** A part was refused, or will not be submitted: without a receipt of that very part it does not arrive whole. */
  readonly isIncomplete?: true;
  /** The submits that have been heard of, while there are several. */
  readonly parts?: readonly KnownPart[];
};

/** A submit by its key, and the segment that its receipts count for. */
export type KnownPart = {
  readonly key: string;
  readonly segment: number;
  readonly guessed?: true;
};

/** A message with everything that decides about it. Amounts in 1/10,000 of the currency unit. */
export type Message = {
  readonly id: string;
  readonly tenantId: string;
  readonly mode: MessageMode;
  readonly source: MessageSourceName;
  readonly campaignId: string | undefined;
  /** Undefined when nothing was held: zero price, test mode, rejected. */
  readonly reservationId: string | undefined;
  readonly status: MessageStatus;
  readonly to: string;
  readonly from: string;
  readonly body: string;
  readonly encoding: Encoding;
  readonly segments: number;
  readonly heldAmount: bigint;
  /** Per segment, of the carrying route; undefined until sent. */
  readonly unitPrice: bigint | undefined;
  readonly amount: bigint | undefined;
  readonly currency: string;
  readonly clientReference: string | undefined;
  readonly error: Reason | undefined;
  /** The carrier's raw code, for operators. */
  readonly carrierCode: string | undefined;
  readonly scheduledAtMs: number | undefined;
  readonly sentAtMs: number | undefined;
  readonly completedAtMs: number | undefined;
  readonly updatedAtMs: number;
  /** Oldest first; one entry per status the message has had. */
  readonly history: readonly StatusChange[];
  /** First to try first; empty for rejected messages. */
  readonly routes: readonly FrozenRoute[];
  /** Which of `routes` is being tried. */
  readonly routeAt: number;
  readonly priority: PriorityClass;
  /** Defined exactly while `queued`. */
  readonly phase: QueuePhase | undefined;
  /** The last claim; kept after sending so that a repeated outcome is recognised. */
  readonly claim: Claim | undefined;
  /**
   * Submits that met a system error since the message last failed over; throttling does not count.
   * A diverted message keeps the count, so they may be of several carriers.
   */
  readonly attempts: number;
  /** Not to be claimed before this instant; 0 means at once. */
  readonly notBeforeMs: number;
  /** When waiting ends with `queue_expired`; undefined until queued. */
  readonly queueUntilMs: number | undefined;
  /** When the present state ends by itself, if nothing else ends it; see `due.ts`. */
  readonly dueAtMs: number | undefined;
  readonly receipts: SegmentReceipts;
  /** The tenant wants bodies gone after the final status. */
  readonly redact: boolean;
  /** W3C traceparent of what accepted the message; only when its trace is recorded. */
  readonly trace: string | undefined;
  /** Rises with each write. */
  readonly revision: number;
};

/** A status change that the world hears about, with the message as it was right after it. */
export type StatusEvent = { readonly previous: MessageStatus; readonly message: Message };

/** What a decision made of a message. Without change, `message` is the very object given. */
export type Decision = { readonly message: Message; readonly events: readonly StatusEvent[] };

/** The decision to leave a message as it is. */
export function unchanged(message: Message): Decision {
  return { message, events: [] };
}

/** Statuses that customers and the wallet hear about. */
const ANNOUNCED: ReadonlySet<MessageStatus> = new Set([
  "sent",
  "delivered",
  "undelivered",
  "expired",
  "failed",
  "cancelled",
]);

/**
 * Moves the message of a decision to another status, along the table of `message-status.ts`: the
 * history grows, final statuses get their completion time, and announced ones their event.
 * `facts` are further fields that change with it. Throws when the table has no such move.
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
  // Clocks of different machines may disagree; a history never runs backwards.
  const occurredMs = Math.max(atMs, before.history.at(-1)?.atMs ?? atMs);
  const error = reason === undefined ? undefined : reasonFor(reason);
  const isFinal = isFinalStatus(status);
  const message: Message = {
    ...before,
    phase: undefined,
    dueAtMs: undefined,
    ...facts,
    status,
    error,
    body: isFinal && before.redact ? "" : before.body,
    completedAtMs: isFinal ? occurredMs : undefined,
    updatedAtMs: occurredMs,
    history: [...before.history, { status, atMs: occurredMs, error }],
  };
  if (!ANNOUNCED.has(status)) return { message, events: decision.events };
  return { message, events: [...decision.events, { previous: before.status, message }] };
}

/** The route being tried, or the one that carried the message. */
export function currentRoute(message: Message): FrozenRoute | undefined {
  return message.routes[message.routeAt];
}

/** Whether the message belongs to a campaign, and is cancelled with it alone. */
export function isCampaignMessage(message: Message): boolean {
  return message.source === "campaign";
}
