/** Maps campaigns and rows to and from protobuf. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  type CampaignRecipientSchema,
  type CampaignSchema,
  type CampaignContent as ContentProto,
  QuietHoursPolicy,
  RecipientStatus,
  CampaignStatus as StatusProto,
} from "../../../proto/gen/sms/v1/campaign_pb.js";
import type { CampaignStatus, RowStatus } from "../../shared/core/campaign-status.ts";
import { invert } from "../../shared/core/invert.ts";
import { checkKnown, invalidField } from "../../shared/core/limits.ts";
import { WIRE_MODE } from "../../shared/rpc/mode.ts";
import type { Campaign, CampaignContent } from "../domain/campaign.ts";
import { totalOf } from "../domain/progress.ts";
import type { Row } from "../domain/row.ts";

export const STATUS_TO_PROTO: Readonly<Record<CampaignStatus, StatusProto>> = {
  draft: StatusProto.DRAFT,
  scheduled: StatusProto.SCHEDULED,
  running: StatusProto.RUNNING,
  paused: StatusProto.PAUSED,
  completed: StatusProto.COMPLETED,
  cancelled: StatusProto.CANCELLED,
  failed: StatusProto.FAILED,
};

const ROW_STATUS_TO_PROTO: Readonly<Record<RowStatus, RecipientStatus>> = {
  waiting: RecipientStatus.WAITING,
  queued: RecipientStatus.QUEUED,
  sent: RecipientStatus.SENT,
  delivered: RecipientStatus.DELIVERED,
  undelivered: RecipientStatus.UNDELIVERED,
  expired: RecipientStatus.EXPIRED,
  rejected: RecipientStatus.REJECTED,
  failed: RecipientStatus.FAILED,
  cancelled: RecipientStatus.CANCELLED,
};

const STATUS_FROM_PROTO = invert(STATUS_TO_PROTO);
const ROW_STATUS_FROM_PROTO = invert(ROW_STATUS_TO_PROTO);

/** Reads the statuses of a filter. */
export function readStatuses(statuses: readonly StatusProto[]): CampaignStatus[] {
  return statuses.map((status) => checkKnown("statuses", STATUS_FROM_PROTO.get(status)));
}

/** Reads the statuses of a filter of rows. */
export function readRowStatuses(statuses: readonly RecipientStatus[]): RowStatus[] {
  return statuses.map((status) => checkKnown("statuses", ROW_STATUS_FROM_PROTO.get(status)));
}

/** Reads the content of a draft. */
export function readContent(wire: ContentProto | undefined): CampaignContent {
  if (wire === undefined) throw invalidField("content", "required", "holds the campaign's content");
  return {
    name: wire.name,
    from: wire.from,
    body: wire.body,
    sendAtMs: wire.sendAtMs === 0n ? undefined : Number(wire.sendAtMs),
    ratePerSecond: wire.ratePerSecond === 0 ? undefined : wire.ratePerSecond,
    budget: wire.budgetAmount,
    quietHours: QUIET_HOURS[wire.quietHours],
    clientReference: wire.clientReference || undefined,
  };
}

/** The members of a draft's content, by their names in the protocol. */
const CONTENT_FIELDS: Readonly<Record<string, keyof CampaignContent>> = {
  name: "name",
  from: "from",
  body: "body",
  send_at_ms: "sendAtMs",
  rate_per_second: "ratePerSecond",
  budget_amount: "budget",
  quiet_hours: "quietHours",
  client_reference: "clientReference",
};

/** Reads which members change; none named means all. */
export function readFields(fields: readonly string[]): (keyof CampaignContent)[] {
  const names = fields.length === 0 ? Object.keys(CONTENT_FIELDS) : fields;
  return names.map((name) => checkKnown("fields", CONTENT_FIELDS[name]));
}

const QUIET_HOURS: Readonly<Partial<Record<QuietHoursPolicy, "hold" | "reject">>> = {
  [QuietHoursPolicy.HOLD]: "hold",
  [QuietHoursPolicy.REJECT]: "reject",
};

const QUIET_HOURS_TO_PROTO = {
  hold: QuietHoursPolicy.HOLD,
  reject: QuietHoursPolicy.REJECT,
} as const;

/** Writes a campaign. */
export function campaignToProto(campaign: Campaign): MessageInitShape<typeof CampaignSchema> {
  const { content, progress } = campaign;
  return {
    id: campaign.id,
    tenantId: campaign.tenantId,
    mode: WIRE_MODE[campaign.mode],
    status: STATUS_TO_PROTO[campaign.status],
    pauseReason: campaign.pauseReason ?? "",
    content: {
      name: content.name,
      from: content.from,
      body: content.body,
      sendAtMs: toTime(content.sendAtMs),
      ratePerSecond: content.ratePerSecond ?? 0,
      ...(content.budget === undefined ? {} : { budgetAmount: content.budget }),
      ...(content.quietHours && { quietHours: QUIET_HOURS_TO_PROTO[content.quietHours] }),
      clientReference: content.clientReference ?? "",
    },
    currency: campaign.currency,
    progress: {
      total: BigInt(totalOf(progress)),
      rejected: BigInt(progress.rejected),
      waiting: BigInt(progress.waiting),
      queued: BigInt(progress.queued),
      sent: BigInt(progress.sent),
      delivered: BigInt(progress.delivered),
      undelivered: BigInt(progress.undelivered),
      expired: BigInt(progress.expired),
      failed: BigInt(progress.failed),
      cancelled: BigInt(progress.cancelled),
      heldAmount: progress.held,
      chargedAmount: progress.charged,
    },
    createdAtMs: BigInt(campaign.createdAtMs),
    startedAtMs: toTime(campaign.startedAtMs),
    endedAtMs: toTime(campaign.endedAtMs),
    updatedAtMs: BigInt(campaign.updatedAtMs),
  };
}

/** Writes a row. */
export function rowToProto(row: Row): MessageInitShape<typeof CampaignRecipientSchema> {
  return {
    index: row.index,
    to: row.to,
    variables: { ...row.variables },
    clientReference: row.clientReference ?? "",
    status: ROW_STATUS_TO_PROTO[row.status],
    messageId: row.messageId ?? "",
    ...(row.error && { error: row.error }),
  };
}

function toTime(atMs: number | undefined): bigint {
  return atMs === undefined ? 0n : BigInt(atMs);
}
