import { AUDIT_SETTINGS, DATABASE_SETTINGS, EVENT_SETTINGS } from "../shared/io/base-config.ts";
import {
  type Config,
  durationMs,
  readConfig,
  type Schema,
  timerMs,
  whole,
} from "../shared/io/config.ts";

/** The settings of the wallet service. */
export const WALLET_SETTINGS = {
  ...DATABASE_SETTINGS,
  ...AUDIT_SETTINGS,
  ...EVENT_SETTINGS,
  /**
   * Age at which the sweeper asks messaging about an open reservation. Any age is safe: messaging writes a
   * tombstone before a hold is released. A send takes some seconds from hold to commit, and a hold whose send
   * died is back in the balance within a minute.
   */
  SETTLEMENT_GRACE_MS: durationMs(45_000),
  /** Interval of the sweeper. */
  WALLET_SWEEP_INTERVAL_MS: timerMs(1000, 10),
  /** Interval of the ledger check behind `wallet_check_breaches`; 0 disables it. */
  WALLET_CHECK_INTERVAL_MS: timerMs(3_600_000),
  /**
   * Fundings that persons ask for (`RequestFunding`) above this amount need a second person; in whole units of the
   * wallet's currency. 0: all of them.
   */
  FUNDING_APPROVAL_ABOVE: whole(0, 1_000_000_000_000, 100_000),
  /** The maximum number of commands of one wallet in a transaction. */
  WALLET_BATCH_MAX: whole(1, 5000, 1000),
  /** The maximum number of commands that wait for one wallet, and for all wallets. */
  WALLET_QUEUE_MAX: whole(1, 1_000_000, 20_000),
  WALLET_TOTAL_MAX: whole(1, 1_000_000, 50_000),
  /** The maximum number of concurrent transactions, and of wallets in one transaction. */
  WALLET_FLUSHES_MAX: whole(1, 100, 4),
  WALLET_GROUP_MAX: whole(1, 1000, 64),
  /** The maximum number of events in one batch of the consumer. */
  WALLET_SETTLE_BATCH_MAX: whole(1, 5000, 500),
} as const satisfies Schema;

export type WalletConfig = Config<typeof WALLET_SETTINGS>;

/** Reads the settings; throws `ConfigError` that names every invalid one. */
export function readWalletConfig(env: NodeJS.ProcessEnv): WalletConfig {
  return readConfig(env, WALLET_SETTINGS);
}
