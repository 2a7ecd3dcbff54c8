/**
 * A row of a campaign: one recipient. It waits, becomes a message, and follows that message. A row has at most one
 * message that is not cancelled, because
 *
 * - the feeder repeats a chunk under its own key, and messaging queues the rows of a key once;
 * - the feeder closes the key of a chunk in messaging before it drops the chunk;
 * - a row waits again only when its message is cancelled.
 */
import type { RowStatus } from "../../shared/core/campaign-status.ts";
import type { MessageStatus } from "../../shared/core/message-status.ts";
import type { Counted } from "./progress.ts";

/** Why a row is not delivered. */
export type RowError = { readonly code: string; readonly message: string };

/** A recipient of a campaign. */
export type Row = RowState & {
  /** The set of rows of its campaign. */
  readonly rowSet: string;
  /** E.164. */
  readonly to: string;
  readonly variables: Readonly<Record<string, string>>;
  readonly clientReference: string | undefined;
};

/** The part of a row that changes. */
export type RowState = Counted & {
  /** The row's place, from 0. */
  readonly index: number;
  readonly messageId: string | undefined;
  /** When messaging queued the message, or when it failed: later failures count, earlier ones do not. */
  readonly messageAtMs: number;
  /** Messages of this row that were taken back before its chunk was recorded, the latest last. */
  readonly takenBack: readonly string[];
  readonly error: RowError | undefined;
};

/** A change of a message, from an event of messaging. */
export type MessageChange = {
  readonly messageId: string;
  readonly to: string;
  readonly status: Exclude<MessageStatus, "scheduled" | "queued" | "rejected">;
  readonly held: bigint;
  readonly amount: bigint;
  readonly updatedAtMs: number;
  readonly error: RowError | undefined;
};

/** Messaging's answer for one row of a chunk. */
export type FeedResult =
  | {
      readonly kind: "queued";
      readonly messageId: string;
      readonly held: bigint;
      readonly atMs: number;
    }
  | { readonly kind: "rejected"; readonly error: RowError };

/** The order of a message's statuses: an event of an earlier stage is ignored. Delivery may follow a failure. */
const STAGES: Readonly<Record<RowStatus, number>> = {
  waiting: 0,
  queued: 1,
  sent: 2,
  delivered: 4,
  undelivered: 3,
  expired: 3,
  rejected: 3,
  failed: 3,
  cancelled: 3,
};

/** Ids of taken-back messages that a row keeps: more than the pauses that can pass before its chunk is recorded. */
const TAKEN_BACK_MAX = 8;

/** The row before it was fed. */
function waitingRow(row: RowState): RowState {
  return { ...row, ...NO_MESSAGE, status: "waiting" };
}

const NO_MESSAGE = {
  messageId: undefined,
  messageAtMs: 0,
  held: 0n,
  amount: 0n,
  error: undefined,
} as const;

/**
 * Applies the answer of a chunk. Returns undefined when the row already has a message or an error: the chunk was
 * recorded before, or an event of the message came first.
 */
export function applyFeedResult(row: RowState, result: FeedResult): RowState | undefined {
  if (row.status !== "waiting") return undefined;
  if (result.kind === "rejected") return { ...row, status: "rejected", error: result.error };
  const { messageId, held, atMs } = result;
  // The message was cancelled before this answer was recorded: the row waits for its next one.
  if (row.takenBack.includes(messageId)) return undefined;
  return { ...row, ...NO_MESSAGE, status: "queued", messageId, held, messageAtMs: atMs };
}

/**
 * Applies a message's event; events may come late, twice and out of order. `waitsAgain`: the campaign is open, so the
 * row of a cancelled message is fed again. Returns undefined when nothing changes.
 */
export function applyMessageChange(
  row: RowState,
  change: MessageChange,
  waitsAgain: boolean,
): RowState | undefined {
  if (row.messageId !== undefined && row.messageId !== change.messageId) return undefined;
  if (row.messageId === undefined && row.status !== "waiting") return undefined;
  if (row.takenBack.includes(change.messageId)) return undefined;
  if (row.messageId !== undefined && isOld(row, change)) return undefined;
  if (change.status === "cancelled" && waitsAgain) {
    const takenBack = [...row.takenBack, change.messageId].slice(-TAKEN_BACK_MAX);
    return { ...waitingRow(row), takenBack };
  }
  return {
    ...row,
    status: change.status,
    messageId: change.messageId,
    messageAtMs: change.updatedAtMs,
    held: change.held,
    amount: change.amount,
    error: change.error,
  };
}

function isOld({ status, messageAtMs }: RowState, change: MessageChange): boolean {
  if (STAGES[change.status] !== STAGES[status]) return STAGES[change.status] < STAGES[status];
  // When a stage has one status, every event of it but the first is a repeat.
  return hasOwnStage(change.status) || change.updatedAtMs <= messageAtMs;
}

/** True for `sent` and `delivered`: no other status has their stage. */
function hasOwnStage(status: RowStatus): boolean {
  return status === "sent" || status === "delivered";
}

/** The row of a campaign that ended before the row was fed. */
export function endWaitingRow(row: RowState): RowState | undefined {
  if (row.status !== "waiting") return undefined;
  const error = { code: "campaign_ended", message: "The campaign ended before this message." };
  return { ...row, status: "cancelled", error };
}
