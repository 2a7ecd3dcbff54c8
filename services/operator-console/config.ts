import {
  type Config,
  port,
  readConfig,
  type Schema,
  text,
  webAddress,
} from "../shared/io/config.ts";

/** The settings of the operators' console. */
export const OPERATOR_CONSOLE_SETTINGS = {
  /** Where the console listens. */
  OPERATOR_CONSOLE_HOST: text("127.0.0.1"),
  OPERATOR_CONSOLE_PORT: port(8090),
  /** The console's public address, without a path; changes from other origins are refused. Empty: the `Host` header. */
  OPERATOR_CONSOLE_URL: webAddress(""),
  /** A carrier's ops port, `http://carrier:9100`, for unmatched receipts; empty leaves them out. */
  CARRIER_OPS: webAddress(""),
} as const satisfies Schema;

export type OperatorConsoleConfig = Config<typeof OPERATOR_CONSOLE_SETTINGS>;

/** Reads the settings; throws `ConfigError` that names every invalid one. */
export function readSettings(env: NodeJS.ProcessEnv): OperatorConsoleConfig {
  return readConfig(env, OPERATOR_CONSOLE_SETTINGS);
}
