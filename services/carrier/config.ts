import { hostname } from "node:os";
import { DATABASE_SETTINGS } from "../shared/io/base-config.ts";
import {
  type Config,
  durationMs,
  matching,
  port,
  readConfig,
  text,
  timerMs,
  webAddress,
} from "../shared/io/config.ts";

/** The names that messaging accepts, less the random part that each journal adds. */
const CARRIER_ID = /^[A-Za-z0-9._:-]{1,115}$/;

/** The settings of the carrier service. */
export const CARRIER_SETTINGS = {
  ...DATABASE_SETTINGS,
  NATS_URL: text(),
  REDIS_URL: text(),
  /** The stable name of this replica (the pod's name); its journal and its claims belong to it. */
  CARRIER_ID: matching(CARRIER_ID, "1 to 115 of letters, digits and . _ : -", ownName()),
  /** A folder on a disk of this replica that survives the process. */
  CARRIER_JOURNAL_DIR: text(".local/carrier"),
  /** How long a stopping carrier waits for answers. */
  CARRIER_DRAIN_MS: timerMs(10_000),
  /** The address of the listener for HTTP receipts; port 0 lets the system choose. */
  CARRIER_RECEIPT_HOST: text("127.0.0.1"),
  CARRIER_RECEIPT_PORT: port(0),
  /** The URL at which carriers reach that listener; by default its own address. */
  CARRIER_RECEIPT_URL: webAddress(""),
  /** The same as in messaging: from an unanswered submit to `failed` with `submission_unknown`. */
  SUBMISSION_UNKNOWN_WAIT_MS: durationMs(600_000),
  /** A receipt without a message becomes unmatched after this time. */
  RECEIPT_GIVE_UP_MS: durationMs(900_000),
  /** How often settings are read when no change is announced. */
  CONNECTOR_POLL_MS: timerMs(2000, 10),
} as const;

/** The host's name, with characters that a carrier's name may not have replaced by hyphens. */
function ownName(): string {
  return hostname()
    .replaceAll(/[^A-Za-z0-9._:-]/g, "-")
    .slice(0, 115);
}

export type CarrierConfig = Config<typeof CARRIER_SETTINGS>;

/** Reads the settings; throws `ConfigError` with every fault. */
export function readCarrierConfig(env: NodeJS.ProcessEnv): CarrierConfig {
  return readConfig(env, CARRIER_SETTINGS);
}
