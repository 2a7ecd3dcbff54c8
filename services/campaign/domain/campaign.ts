/**
 * A campaign's states (`docs/contract.md#campaigns`):
 *
 * - draft: content and rows may change. Left by start, cancel or deletion.
 * - scheduled: started, waits for its time. Left when the time comes, by pause or cancel.
 * - running: rows are fed to messaging. Left by pause, cancel, or when no row waits and no message is queued.
 * - paused: nothing is fed; `pauseReason` says why. Left by resume or cancel, and to failed when the service paused it
 *   and it was not resumed in time.
 * - completed, cancelled, failed: final.
 */
import type { CampaignStatus } from "../../shared/core/campaign-status.ts";
import { AppError } from "../../shared/core/errors.ts";
import { isLegalMove, type StateTable } from "../../shared/core/state-table.ts";
import { EMPTY_PROGRESS, type Progress } from "./progress.ts";

/** Why a campaign is paused: by its customer, or by the service. */
export type PauseReason =
  | "customer"
  | "insufficient_balance"
  | "budget_reached"
  | "sender_id_not_approved"
  | "tenant_suspended";

/** Live or test traffic. */
export type CampaignMode = "live" | "test";

/** The fields of a draft that its customer may change. */
export type CampaignContent = {
  readonly name: string;
  readonly from: string;
  /** May hold `{{placeholders}}`. */
  readonly body: string;
  /** Milliseconds since the Unix epoch; undefined means at `start`. */
  readonly sendAtMs: number | undefined;
  /** The most messages fed per second. */
  readonly ratePerSecond: number | undefined;
  /** The most that charges and holds may sum to, in 1/10,000 of the currency unit. */
  readonly budget: bigint | undefined;
  readonly quietHours: "hold" | "reject" | undefined;
  readonly clientReference: string | undefined;
};

/** A campaign. Instants are milliseconds since the Unix epoch. */
export type Campaign = {
  readonly id: string;
  readonly tenantId: string;
  readonly mode: CampaignMode;
  readonly currency: string;
  readonly content: CampaignContent;
  readonly status: CampaignStatus;
  /** Set while paused. */
  readonly pauseReason: PauseReason | undefined;
  /** When the service or the customer paused it. */
  readonly pausedAtMs: number | undefined;
  readonly progress: Progress;
  /** True while queued messages are still to be taken back. */
  readonly takesBack: boolean;
  /** The number of the chunk that is being fed; undefined when none is. */
  readonly openChunk: number | undefined;
  /** The most that the open chunk may hold. */
  readonly openChunkMax: bigint;
  /** The set that its rows are in. */
  readonly rowSet: string;
  /** The place of the next row. */
  readonly nextRow: number;
  /** The number of the next chunk. */
  readonly nextChunk: number;
  /** When the rate allows the next row. */
  readonly nextFeedAtMs: number;
  readonly createdAtMs: number;
  readonly startedAtMs: number | undefined;
  readonly endedAtMs: number | undefined;
  readonly updatedAtMs: number;
};

/** The events of a campaign, named after the new state. */
export type CampaignEventType =
  | "started"
  | "paused"
  | "resumed"
  | "completed"
  | "cancelled"
  | "failed";

/** A change of state. `event` is undefined where the contract announces none. */
export type Transition = {
  readonly campaign: Campaign;
  readonly previous: CampaignStatus;
  readonly event: CampaignEventType | undefined;
};

/** An action on a campaign, by its customer or by the service. */
export type Action =
  | { readonly kind: "start" }
  | { readonly kind: "pause"; readonly reason: PauseReason }
  | { readonly kind: "resume" }
  | { readonly kind: "cancel" }
  | { readonly kind: "complete" }
  | { readonly kind: "fail" };

const MOVES: StateTable<CampaignStatus> = Object.freeze({
  draft: ["scheduled", "running", "cancelled"],
  scheduled: ["running", "paused", "cancelled"],
  running: ["paused", "completed", "cancelled"],
  paused: ["scheduled", "running", "cancelled", "failed"],
  completed: [],
  cancelled: [],
  failed: [],
});

/** States whose campaigns count towards a tenant's limit. */
export const OPEN_STATUSES: readonly CampaignStatus[] = ["draft", "scheduled", "running", "paused"];

/** True when rows may still become messages. */
export function isOpen(status: CampaignStatus): boolean {
  return OPEN_STATUSES.includes(status);
}

/** A new draft. */
export function createCampaign(input: {
  readonly id: string;
  readonly tenantId: string;
  readonly mode: CampaignMode;
  readonly currency: string;
  readonly content: CampaignContent;
  readonly nowMs: number;
}): Campaign {
  const { nowMs, ...given } = input;
  return {
    ...given,
    status: "draft",
    pauseReason: undefined,
    pausedAtMs: undefined,
    progress: EMPTY_PROGRESS,
    takesBack: false,
    openChunk: undefined,
    openChunkMax: 0n,
    rowSet: given.id,
    nextRow: 0,
    nextChunk: 0,
    nextFeedAtMs: 0,
    createdAtMs: nowMs,
    startedAtMs: undefined,
    endedAtMs: undefined,
    updatedAtMs: nowMs,
  };
}

/** The draft without its rows: it begins a new, empty set. */
export function withoutRows(campaign: Campaign, nowMs: number): Campaign {
  const { id, rowSet } = campaign;
  const number = rowSet === id ? 2 : Number(rowSet.slice(id.length + 1)) + 1;
  const changes = { progress: EMPTY_PROGRESS, rowSet: `${id}~${number}`, nextRow: 0 };
  return { ...campaign, ...changes, updatedAtMs: nowMs };
}

/**
 * Applies an action. Returns undefined when the campaign is already as the action wants it, so a repeat is harmless.
 * Throws `invalid_state_transition`.
 */
export function transition(
  campaign: Campaign,
  action: Action,
  nowMs: number,
): Transition | undefined {
  switch (action.kind) {
    case "start":
      return start(campaign, nowMs);
    case "pause":
      return pause(campaign, action.reason, nowMs);
    case "resume":
      return resume(campaign, nowMs);
    case "cancel":
      if (campaign.status === "cancelled") return undefined;
      return end(campaign, "cancelled", nowMs);
    case "complete":
      return end(campaign, "completed", nowMs);
    case "fail":
      return end(campaign, "failed", nowMs);
  }
}

/** True when a running campaign has nothing left to do. */
export function isFinished({ status, progress, openChunk }: Campaign): boolean {
  if (status !== "running" || openChunk !== undefined) return false;
  return progress.waiting === 0 && progress.queued === 0;
}

function start(campaign: Campaign, nowMs: number): Transition | undefined {
  if (campaign.status === "running") return undefined;
  if (campaign.status === "scheduled") {
    return isDue(campaign, nowMs) ? run(campaign, "started", nowMs) : undefined;
  }
  if (campaign.status !== "draft") throw illegal(campaign, "start");
  if (isDue(campaign, nowMs)) return run(campaign, "started", nowMs);
  return move(campaign, "scheduled", { updatedAtMs: nowMs }, undefined);
}

function pause(campaign: Campaign, reason: PauseReason, nowMs: number): Transition | undefined {
  const { status, pauseReason } = campaign;
  if (status === "paused") {
    if (reason !== "customer" || pauseReason === "customer") return undefined;
    // The customer takes over a pause of the service: it no longer ends by itself, and queued messages are taken back.
    const campaignNow = { ...campaign, pauseReason: reason, takesBack: true, updatedAtMs: nowMs };
    return { campaign: campaignNow, previous: status, event: undefined };
  }
  if (status !== "running" && status !== "scheduled") throw illegal(campaign, "pause");
  const takesBack = campaign.takesBack || (reason === "customer" && status === "running");
  const changes = { pauseReason: reason, pausedAtMs: nowMs, takesBack, updatedAtMs: nowMs };
  return move(campaign, "paused", changes, "paused");
}

function resume(campaign: Campaign, nowMs: number): Transition | undefined {
  if (campaign.status === "running") return undefined;
  if (campaign.status !== "paused") throw illegal(campaign, "resume");
  const wasStarted = campaign.startedAtMs !== undefined;
  if (wasStarted || isDue(campaign, nowMs)) return run(campaign, "resumed", nowMs);
  const changes = { pauseReason: undefined, pausedAtMs: undefined, updatedAtMs: nowMs };
  return move(campaign, "scheduled", changes, "resumed");
}

function run(campaign: Campaign, event: CampaignEventType, nowMs: number): Transition {
  const changes = {
    pauseReason: undefined,
    pausedAtMs: undefined,
    // Messages that were not taken back yet stay queued; the rows of those that were wait again.
    takesBack: false,
    startedAtMs: campaign.startedAtMs ?? nowMs,
    updatedAtMs: nowMs,
  };
  return move(campaign, "running", changes, event);
}

function end(
  campaign: Campaign,
  status: "completed" | "cancelled" | "failed",
  nowMs: number,
): Transition {
  const changes = {
    pauseReason: undefined,
    pausedAtMs: undefined,
    endedAtMs: nowMs,
    updatedAtMs: nowMs,
    takesBack: status !== "completed",
  };
  return move(campaign, status, changes, status);
}

function move(
  campaign: Campaign,
  status: CampaignStatus,
  changes: Partial<Campaign>,
  event: CampaignEventType | undefined,
): Transition {
  if (!isLegalMove(MOVES, campaign.status, status)) throw illegal(campaign, status);
  return { campaign: { ...campaign, ...changes, status }, previous: campaign.status, event };
}

function isDue({ content }: Campaign, nowMs: number): boolean {
  return content.sendAtMs === undefined || content.sendAtMs <= nowMs;
}

/** The error for an action that the state does not allow. */
export function illegal({ status }: Pick<Campaign, "status">, action: string): AppError {
  return new AppError(
    "invalid_state_transition",
    `A campaign that is ${status} does not allow this: ${action}.`,
  );
}
