/** States of campaigns (`services/campaign/domain/campaign.ts`) and of their rows. The sets never grow within v1. */
export const CAMPAIGN_STATUSES = [
  "draft",
  "scheduled",
  "running",
  "paused",
  "completed",
  "cancelled",
  "failed",
] as const;

/** One state of a campaign. */
export type CampaignStatus = (typeof CAMPAIGN_STATUSES)[number];

/** A row has the status of its message; `waiting` rows have no message. */
export const ROW_STATUSES = [
  "waiting",
  "queued",
  "sent",
  "delivered",
  "undelivered",
  "expired",
  "rejected",
  "failed",
  "cancelled",
] as const;

/** One state of a row. */
export type RowStatus = (typeof ROW_STATUSES)[number];
