import { DEFAULT_QUIET_HOURS, parseQuietRules } from "../shared/core/quiet-hours-text.ts";
import { AUDIT_SETTINGS, DATABASE_SETTINGS } from "../shared/io/base-config.ts";
import { type Config, readBy, readConfig, text, timerMs } from "../shared/io/config.ts";
import { createSecretBox } from "../shared/io/encryption.ts";

/** The settings of the routing service. */
export const ROUTING_SETTINGS = {
  ...DATABASE_SETTINGS,
  ...AUDIT_SETTINGS,
  NATS_URL: text(),
  /** Encryption keys of stored connector secrets: `id:base64,…`; the first one encrypts. */
  ENCRYPTION_KEYS: readBy(createSecretBox),
  /** Quiet hours that hold unless operators have set or removed those of a country and class; `none` is none. */
  QUIET_HOURS: readBy(parseQuietRules, DEFAULT_QUIET_HOURS),
  /** Interval of the evaluation of connector health. */
  CONNECTOR_JUDGE_INTERVAL_MS: timerMs(1000, 10),
} as const;

export type RoutingConfig = Config<typeof ROUTING_SETTINGS>;

/** Reads the settings; throws `ConfigError` that names every invalid one. */
export function readRoutingConfig(env: NodeJS.ProcessEnv): RoutingConfig {
  return readConfig(env, ROUTING_SETTINGS);
}
