import {
  type AddRecipientsResponse,
  type Campaign,
  type CampaignProgress,
  type CampaignRecipient,
  CampaignStatus,
  type EstimateCampaignResponse,
  QuietHoursPolicy,
  type RecipientPreview,
  RecipientStatus,
  type SendCampaignTestResponse,
} from "../../proto/gen/sms/v1/campaign_pb.js";
import type { Reason } from "../../proto/gen/sms/v1/common_pb.js";
import type {
  RowStatus,
  CampaignStatus as StatusName,
} from "../../services/shared/core/campaign-status.ts";
import { invert } from "../../services/shared/core/invert.ts";
import { formatAmount } from "../../services/shared/core/money.ts";
import { formatInstant } from "../../services/shared/core/rfc3339.ts";
import { csvText } from "./csv-text.ts";
import { instantOrNull, modeName, textOrNull } from "./message.ts";
import { renderRowFaults } from "./row-faults.ts";

/** Campaign statuses by public name. */
export const CAMPAIGN_STATUS_NUMBERS: Readonly<Record<StatusName, CampaignStatus>> = {
  draft: CampaignStatus.DRAFT,
  scheduled: CampaignStatus.SCHEDULED,
  running: CampaignStatus.RUNNING,
  paused: CampaignStatus.PAUSED,
  completed: CampaignStatus.COMPLETED,
  cancelled: CampaignStatus.CANCELLED,
  failed: CampaignStatus.FAILED,
};

/** Recipient statuses by public name. */
export const RECIPIENT_STATUS_NUMBERS: Readonly<Record<RowStatus, RecipientStatus>> = {
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

const STATUS_NAMES = invert(CAMPAIGN_STATUS_NUMBERS);
const RECIPIENT_STATUS_NAMES = invert(RECIPIENT_STATUS_NUMBERS);

/** Quiet-hours policies by public name. */
export const QUIET_HOURS = {
  hold: QuietHoursPolicy.HOLD,
  reject: QuietHoursPolicy.REJECT,
} as const;

/** Renders a campaign. */
export function renderCampaign(campaign: Campaign) {
  const { content } = campaign;
  return {
    id: campaign.id,
    object: "campaign",
    mode: modeName(campaign.mode),
    name: content?.name ?? "",
    status: STATUS_NAMES.get(campaign.status) ?? "",
    pause_reason: textOrNull(campaign.pauseReason),
    from: content?.from ?? "",
    body: content?.body ?? "",
    send_at: instantOrNull(content?.sendAtMs ?? 0n),
    rate_per_second: content?.ratePerSecond || null,
    budget_amount: content?.budgetAmount === undefined ? null : formatAmount(content.budgetAmount),
    quiet_hours: quietHoursName(content?.quietHours),
    client_reference: textOrNull(content?.clientReference ?? ""),
    currency: campaign.currency,
    progress: renderProgress(campaign.progress),
    created_at: formatInstant(Number(campaign.createdAtMs)),
    started_at: instantOrNull(campaign.startedAtMs),
    completed_at: instantOrNull(campaign.endedAtMs),
    updated_at: formatInstant(Number(campaign.updatedAtMs)),
  };
}

function renderProgress(progress: CampaignProgress | undefined) {
  const count = (value: bigint | undefined) => Number(value ?? 0n);
  return {
    total: count(progress?.total),
    rejected: count(progress?.rejected),
    waiting: count(progress?.waiting),
    queued: count(progress?.queued),
    sent: count(progress?.sent),
    delivered: count(progress?.delivered),
    undelivered: count(progress?.undelivered),
    expired: count(progress?.expired),
    failed: count(progress?.failed),
    cancelled: count(progress?.cancelled),
    held_amount: formatAmount(progress?.heldAmount ?? 0n),
    charged_amount: formatAmount(progress?.chargedAmount ?? 0n),
  };
}

/** Renders a recipient of a campaign. */
export function renderRecipient(recipient: CampaignRecipient) {
  return {
    object: "campaign_recipient",
    index: recipient.index,
    to: recipient.to,
    variables: recipient.variables,
    client_reference: textOrNull(recipient.clientReference),
    status: RECIPIENT_STATUS_NAMES.get(recipient.status) ?? "",
    message_id: textOrNull(recipient.messageId),
    error: renderReason(recipient.error),
  };
}

const CSV_HEADER = [
  ...["index", "to", "client_reference", "status", "message_id"],
  ...["error_code", "error_message"],
];

/** Renders recipients as CSV. */
export function renderRecipientsCsv(recipients: readonly CampaignRecipient[]): string {
  const rows = recipients.map((recipient) => [
    String(recipient.index),
    recipient.to,
    recipient.clientReference,
    RECIPIENT_STATUS_NAMES.get(recipient.status) ?? "",
    recipient.messageId,
    recipient.error?.code ?? "",
    recipient.error?.message ?? "",
  ]);
  return csvText([CSV_HEADER, ...rows], [2]);
}

/** Renders the result of adding rows. */
export function renderImport(made: AddRecipientsResponse) {
  const faults = renderRowFaults(made.faults);
  const { taken, rejected, duplicates } = made;
  return { object: "campaign_import", taken, rejected, duplicates, faults };
}

/** Renders an estimate. */
export function renderEstimate(estimate: EstimateCampaignResponse) {
  const byCode = Object.entries(estimate.rejected).map(([code, count]) => [code, Number(count)]);
  const rejectedByCode = Object.fromEntries(byCode) as Record<string, number>;
  return {
    object: "campaign_estimate",
    recipients: Number(estimate.recipients),
    rejected: Object.values(rejectedByCode).reduce((sum, count) => sum + count, 0),
    rejected_by_code: rejectedByCode,
    segments: Number(estimate.segments),
    amount: formatAmount(estimate.amount),
    available_amount: formatAmount(estimate.availableAmount),
    currency: estimate.currency,
    countries: estimate.countries.map(({ country, recipients, segments, amount }) => ({
      country,
      recipients: Number(recipients),
      segments: Number(segments),
      amount: formatAmount(amount),
    })),
  };
}

/** Renders the text of one recipient. */
export function renderPreview(preview: RecipientPreview) {
  const error = renderReason(preview.error);
  return {
    object: "campaign_preview",
    index: preview.index,
    to: preview.to,
    body: error === null ? preview.body : null,
    segments: preview.segments,
    error,
  };
}

/** Renders the messages of a test send. */
export function renderTest({ results }: SendCampaignTestResponse) {
  return {
    object: "campaign_test",
    messages: results.map(({ to, messageId, error }) => ({
      to,
      message_id: textOrNull(messageId),
      error: renderReason(error),
    })),
  };
}

function renderReason(reason: Reason | undefined) {
  return reason === undefined ? null : { code: reason.code, message: reason.message };
}

function quietHoursName(policy: QuietHoursPolicy | undefined): "hold" | "reject" | null {
  if (policy === QuietHoursPolicy.HOLD) return "hold";
  return policy === QuietHoursPolicy.REJECT ? "reject" : null;
}
