import { DATABASE_SETTINGS } from "../shared/io/base-config.ts";
import { type Config, readBy, readConfig, text, timerMs } from "../shared/io/config.ts";
import { createSecretBox } from "../shared/io/encryption.ts";

const SETTINGS = {
  ...DATABASE_SETTINGS,
  NATS_URL: text(),
  /** Keys for connector secrets at rest: `id:base64,…`, the first one seals. */
  ENCRYPTION_KEYS: readBy(createSecretBox),
  /** How often connectors are judged by their binds' reports. */
  CONNECTOR_JUDGE_INTERVAL_MS: timerMs(1000, 10),
} as const;

/** The routing service's settings. */
export type RoutingConfig = Config<typeof SETTINGS>;

/** Reads the settings; throws `ConfigError` with every fault. */
export function readRoutingConfig(env: NodeJS.ProcessEnv): RoutingConfig {
  return readConfig(env, SETTINGS);
}
