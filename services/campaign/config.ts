import { AUDIT_SETTINGS, DATABASE_SETTINGS, EVENT_SETTINGS } from "../shared/io/base-config.ts";
import { type Config, durationMs, readConfig, whole } from "../shared/io/config.ts";

/** Settings of the campaign service; durations in milliseconds. */
export const CAMPAIGN_SETTINGS = {
  ...DATABASE_SETTINGS,
  ...AUDIT_SETTINGS,
  ...EVENT_SETTINGS,
  /** How long an idempotency key is kept; the same setting as messaging's. */
  IDEMPOTENCY_TTL_MS: durationMs(86_400_000, 100),
  /** The most recipients of one campaign. */
  CAMPAIGN_ROWS_MAX: whole(1, 1_000_000, 1_000_000),
  /** The most open campaigns of a tenant, in each mode. */
  CAMPAIGN_OPEN_MAX: whole(1, 10_000, 100),
  /** How long a campaign may stay paused by the service before it fails. */
  CAMPAIGN_PAUSED_MAX_MS: durationMs(604_800_000, 1000),
  /** How long rows are kept after the campaign has ended. */
  CAMPAIGN_KEEP_ROWS_MS: durationMs(2_592_000_000, 1000),
  /** How long a dead process keeps other processes from feeding its campaigns. */
  CAMPAIGN_LEASE_MS: whole(1000, 600_000, 10_000),
  CAMPAIGN_EVENT_BATCH_MAX: whole(1, 10_000, 4000),
} as const;

/** Reads the settings; throws `ConfigError` that names every invalid one. */
export function readCampaignConfig(env: NodeJS.ProcessEnv): Config<typeof CAMPAIGN_SETTINGS> {
  return readConfig(env, CAMPAIGN_SETTINGS);
}

/** The settings of the campaign service. */
export type CampaignConfig = Config<typeof CAMPAIGN_SETTINGS>;
