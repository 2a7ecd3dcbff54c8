/** Maps campaigns and rows to documents. Amounts are int64, instants are dates. */
import { Long } from "mongodb";
import {
  type CampaignStatus,
  ROW_STATUSES,
  type RowStatus,
} from "../../shared/core/campaign-status.ts";
import type { Campaign, CampaignContent } from "../domain/campaign.ts";
import { EMPTY_PROGRESS, type Progress } from "../domain/progress.ts";
import type { Row } from "../domain/row.ts";

/** The work that is left for a campaign: feed it or take back its messages, or wait for an instant. */
type WorkKind = "feed" | "scheduled" | "paused" | "hidden" | "ended";

export type CampaignDocument = {
  _id: string;
  tenant_id: string;
  mode: "live" | "test";
  currency: string;
  status: CampaignStatus;
  content: {
    name: string;
    from: string;
    body: string;
    send_at?: Date;
    rate_per_second?: number;
    budget?: Long;
    quiet_hours?: "hold" | "reject";
    client_reference?: string;
  };
  progress: Record<RowStatus, number> & { held: Long; charged: Long };
  pause_reason?: Campaign["pauseReason"] & string;
  paused_at?: Date;
  takes_back?: true;
  open_chunk?: number;
  open_chunk_max?: Long;
  /** Absent for the first set, which has the campaign's id. */
  row_set?: string;
  next_row: number;
  next_chunk: number;
  next_feed_at: number;
  created_at: Date;
  started_at?: Date;
  ended_at?: Date;
  updated_at: Date;
  work?: WorkKind;
  lease?: { owner: string; until: Date };
};

/** The part of a row that does not change; the rest is in `row_states`. */
export type RowDocument = {
  _id: string;
  /** The set of rows: the campaign's id, and a number after its rows were removed. */
  campaign_id: string;
  index: number;
  to: string;
  variables?: Record<string, string>;
  client_reference?: string;
};

/** The id of a row: one number is in a set once. */
export function rowId(rowSet: string, to: string): string {
  return `${rowSet}${to}`;
}

export function fromCampaign(campaign: Campaign): CampaignDocument {
  const { content, progress } = campaign;
  return withoutUndefined({
    _id: campaign.id,
    tenant_id: campaign.tenantId,
    mode: campaign.mode,
    currency: campaign.currency,
    status: campaign.status,
    content: withoutUndefined({
      name: content.name,
      from: content.from,
      body: content.body,
      send_at: toDate(content.sendAtMs),
      rate_per_second: content.ratePerSecond,
      budget: content.budget === undefined ? undefined : Long.fromBigInt(content.budget),
      quiet_hours: content.quietHours,
      client_reference: content.clientReference,
    }) as CampaignDocument["content"],
    progress: {
      ...progress,
      held: Long.fromBigInt(progress.held),
      charged: Long.fromBigInt(progress.charged),
    },
    pause_reason: campaign.pauseReason,
    paused_at: toDate(campaign.pausedAtMs),
    takes_back: campaign.takesBack || undefined,
    open_chunk: campaign.openChunk,
    open_chunk_max:
      campaign.openChunk === undefined ? undefined : Long.fromBigInt(campaign.openChunkMax),
    row_set: campaign.rowSet === campaign.id ? undefined : campaign.rowSet,
    next_row: campaign.nextRow,
    next_chunk: campaign.nextChunk,
    next_feed_at: campaign.nextFeedAtMs,
    created_at: new Date(campaign.createdAtMs),
    started_at: toDate(campaign.startedAtMs),
    ended_at: toDate(campaign.endedAtMs),
    updated_at: new Date(campaign.updatedAtMs),
    work: workOf(campaign),
  }) as CampaignDocument;
}

export function toCampaign(document: CampaignDocument): Campaign {
  const { content } = document;
  const toContent: CampaignContent = {
    name: content.name,
    from: content.from,
    body: content.body,
    sendAtMs: content.send_at?.getTime(),
    ratePerSecond: content.rate_per_second,
    budget: content.budget?.toBigInt(),
    quietHours: content.quiet_hours,
    clientReference: content.client_reference,
  };
  return {
    id: document._id,
    tenantId: document.tenant_id,
    mode: document.mode,
    currency: document.currency,
    content: toContent,
    status: document.status,
    pauseReason: document.pause_reason,
    pausedAtMs: document.paused_at?.getTime(),
    progress: toProgress(document.progress),
    takesBack: document.takes_back === true,
    openChunk: document.open_chunk,
    openChunkMax: (document.open_chunk_max ?? Long.ZERO).toBigInt(),
    rowSet: rowSetOf(document),
    nextRow: document.next_row,
    nextChunk: document.next_chunk,
    nextFeedAtMs: document.next_feed_at,
    createdAtMs: document.created_at.getTime(),
    startedAtMs: document.started_at?.getTime(),
    endedAtMs: document.ended_at?.getTime(),
    updatedAtMs: document.updated_at.getTime(),
  };
}

/** The set that a campaign's rows are in. */
export function rowSetOf({ _id, row_set }: Pick<CampaignDocument, "_id" | "row_set">): string {
  return row_set ?? _id;
}

export function fromRow(row: Row): RowDocument {
  const { variables } = row;
  return withoutUndefined({
    _id: rowId(row.rowSet, row.to),
    campaign_id: row.rowSet,
    index: row.index,
    to: row.to,
    variables: Object.keys(variables).length === 0 ? undefined : variables,
    client_reference: row.clientReference,
  }) as RowDocument;
}

function workOf(campaign: Campaign): WorkKind | undefined {
  const { status, openChunk, takesBack, pauseReason } = campaign;
  if (status === "running" || openChunk !== undefined || takesBack) return "feed";
  if (status === "scheduled") return "scheduled";
  if (status === "paused") return pauseReason === "customer" ? undefined : "paused";
  return status === "draft" ? undefined : "ended";
}

function toProgress(stored: CampaignDocument["progress"]): Progress {
  const progress = { ...EMPTY_PROGRESS };
  for (const status of ROW_STATUSES) progress[status] = Number(stored[status]);
  return { ...progress, held: stored.held.toBigInt(), charged: stored.charged.toBigInt() };
}

function toDate(atMs: number | undefined): Date | undefined {
  return atMs === undefined ? undefined : new Date(atMs);
}

/** Absent fields are not stored. */
export function withoutUndefined<T extends object>(fields: T): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
}
