import { AUDIT_SETTINGS, DATABASE_SETTINGS, EVENT_SETTINGS } from "../shared/io/base-config.ts";
import { type Config, durationMs, readConfig } from "../shared/io/config.ts";

/** Settings of the consent service; durations in milliseconds. */
export const CONSENT_SETTINGS = {
  ...DATABASE_SETTINGS,
  ...AUDIT_SETTINGS,
  ...EVENT_SETTINGS,
  /** How long a message in several parts waits for missing parts. */
  INBOUND_PARTS_WAIT_MS: durationMs(600_000, 100),
} as const;

/** Reads the settings; throws `ConfigError` that names every invalid one. */
export function readConsentConfig(env: NodeJS.ProcessEnv): Config<typeof CONSENT_SETTINGS> {
  return readConfig(env, CONSENT_SETTINGS);
}
