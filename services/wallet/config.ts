import { DATABASE_SETTINGS, EVENT_SETTINGS } from "../shared/io/base-config.ts";
import {
  type Config,
  durationMs,
  readConfig,
  type Schema,
  timerMs,
  whole,
} from "../shared/io/config.ts";

const SETTINGS = {
  ...DATABASE_SETTINGS,
  ...EVENT_SETTINGS,
  /** How long a reservation may stay open before messaging is asked about it. */
  SETTLEMENT_GRACE_MS: durationMs(300_000),
  /** How often the sweeper looks for such reservations. */
  WALLET_SWEEP_INTERVAL_MS: timerMs(1000, 10),
  /** How often the ledger is checked for the metric; 0 never. */
  WALLET_CHECK_INTERVAL_MS: timerMs(3_600_000),
  /** Commands written in one transaction at most. */
  WALLET_BATCH_MAX: whole(1, 5000, 1000),
  /** Commands that may wait for one wallet, and for all together. */
  WALLET_QUEUE_MAX: whole(1, 1_000_000, 20_000),
  WALLET_TOTAL_MAX: whole(1, 1_000_000, 50_000),
  /** Transactions at once, and wallets in one of them. */
  WALLET_FLUSHES_MAX: whole(1, 100, 4),
  WALLET_GROUP_MAX: whole(1, 1000, 64),
  /** Events taken from the stream at once. */
  WALLET_SETTLE_BATCH_MAX: whole(1, 5000, 500),
} as const satisfies Schema;

/** The wallet's settings. */
export type WalletConfig = Config<typeof SETTINGS>;

/** Reads the wallet's settings; throws `ConfigError` naming every fault. */
export function readWalletConfig(env: NodeJS.ProcessEnv): WalletConfig {
  return readConfig(env, SETTINGS);
}
