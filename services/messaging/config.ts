import { AUDIT_SETTINGS, DATABASE_SETTINGS, EVENT_SETTINGS } from "../shared/io/base-config.ts";
import { type Config, durationMs, readConfig, type Schema, whole } from "../shared/io/config.ts";

/** Settings of messaging; durations in milliseconds. */
export const MESSAGING_SETTINGS = {
  ...DATABASE_SETTINGS,
  ...AUDIT_SETTINGS,
  ...EVENT_SETTINGS,
  /** A message without a receipt goes from `sent` to `expired` after this time: 72 hours. */
  RECEIPT_WAIT_MS: durationMs(259_200_000),
  /** Interval of the search for due messages. */
  SCHEDULER_INTERVAL_MS: whole(10, 60_000, 1000),
  /** A submit without an answer ends in `failed` `submission_unknown` after this time: 10 minutes. */
  SUBMISSION_UNKNOWN_WAIT_MS: durationMs(600_000),
  /** A queued message ends in `failed` `queue_expired` after this time: 4 hours. */
  QUEUE_TIME_MAX_MS: durationMs(14_400_000),
  /** How long an idempotency key is kept after its request. */
  IDEMPOTENCY_TTL_MS: durationMs(86_400_000, 100),
  /**
   * How long the key of a campaign's chunk is kept. A running campaign repeats a chunk under its key until it has
   * recorded the response. After an outage longer than this a repeat could send a number a second message.
   */
  CAMPAIGN_KEY_TTL_MS: durationMs(2_592_000_000, 100),
  /** A scheduled send is due at least this long after its request. */
  SEND_AT_MIN_MS: durationMs(60_000),
  /** The claim lease: a carrier without a heartbeat for this long is dead, and its messages become unknown. */
  CLAIM_LEASE_MS: whole(100, 3_600_000, 60_000),
  /** The most messages in one queue (a connector and a priority class); further sends are refused. */
  QUEUE_MAX: whole(1, 100_000_000, 2_000_000),
  /** The most sends that wait for their commit. */
  ACCEPT_QUEUE_MAX: whole(1, 1_000_000, 8192),
  /** Retention of messages. The contract promises 12 months; less, down to one day, is for tests. */
  MESSAGE_KEEP_MS: whole(86_400_000, 315_360_000_000, 31_708_800_000),
  /** Retention of test messages after their final status. */
  TEST_MESSAGE_KEEP_MS: whole(3_600_000, 31_708_800_000, 2_592_000_000),
} as const satisfies Schema;

export type MessagingConfig = Config<typeof MESSAGING_SETTINGS>;

/** Reads the settings from an environment; throws one error that names every fault. */
export function readMessagingConfig(env: NodeJS.ProcessEnv): MessagingConfig {
  return readConfig(env, MESSAGING_SETTINGS);
}
