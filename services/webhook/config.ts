import { Resolver } from "node:dns";
import { AUDIT_SETTINGS, DATABASE_SETTINGS, EVENT_SETTINGS } from "../shared/io/base-config.ts";
import {
  type Config,
  ConfigError,
  durationMs,
  flag,
  list,
  network,
  port,
  readBy,
  readConfig,
  type Setting,
  text,
  whole,
} from "../shared/io/config.ts";
import { createSecretBox } from "../shared/io/encryption.ts";
import { type Network, parseNetwork } from "./domain/address-rules.ts";

/** Settings of the webhook service; durations in milliseconds. */
export const WEBHOOK_SETTINGS = {
  ...DATABASE_SETTINGS,
  ...AUDIT_SETTINGS,
  ...EVENT_SETTINGS,
  ENCRYPTION_KEYS: readBy(createSecretBox),
  /** How long an idempotency key is kept; the same setting as messaging's. */
  IDEMPOTENCY_TTL_MS: durationMs(86_400_000, 100),
  /** Delays before the second and later attempts, each from the failure before it. */
  WEBHOOK_RETRY_DELAYS_MS: list(durationMs(), [60_000, 300_000, 900_000, 3_600_000]),
  /** From the start of an attempt to the end of the response; for 2xx, to the end of its head. */
  WEBHOOK_TIMEOUT_MS: whole(100, 60_000, 10_000),
  /** CIDRs exempt from the public-address rule. */
  WEBHOOK_ALLOWED_NETWORKS: list(exemption(), []),
  WEBHOOK_ALLOWED_PORTS: list(port(), [443, 8443]),
  /** Further certificate authorities, PEM; Node's stay trusted. */
  WEBHOOK_CA_FILE: text(""),
  /** Name servers as `address` or `address:port`; empty means the system's. */
  WEBHOOK_DNS_SERVERS: list(readBy(checkNameServer), []),
  /** How long deliveries are kept for the log, resends and recovery. */
  WEBHOOK_RETENTION_MS: durationMs(2_592_000_000),
  /** Failures without a success for this long disable an endpoint. */
  WEBHOOK_DISABLE_AFTER_MS: durationMs(259_200_000),
  /** Removes bodies and responses from the log after success; such deliveries cannot be resent. */
  WEBHOOK_REDACT_DELIVERED: flag(false),
  WEBHOOK_ENDPOINT_CONCURRENCY: whole(1, 10_000, 128),
  WEBHOOK_TENANT_CONCURRENCY: whole(1, 50_000, 256),
  WEBHOOK_TOTAL_CONCURRENCY: whole(1, 50_000, 4096),
  WEBHOOK_POLL_INTERVAL_MS: whole(10, 10_000, 200),
  WEBHOOK_EVENT_BATCH_MAX: whole(1, 1000, 500),
  /**
   * A name that no other running process has; by default made from the ops port
   * (`adapters/lease-owner.ts`).
   */
  WEBHOOK_INSTANCE: text(""),
} as const;

/** The parsed and frozen settings. */
export type WebhookConfig = Config<typeof WEBHOOK_SETTINGS>;

/** Throws `ConfigError` with every fault. */
export function readWebhookConfig(env: NodeJS.ProcessEnv): WebhookConfig {
  const config = readConfig(env, WEBHOOK_SETTINGS);
  const scheduleMs = config.WEBHOOK_RETRY_DELAYS_MS.reduce((sum, delayMs) => sum + delayMs, 0);
  if (config.WEBHOOK_RETENTION_MS <= scheduleMs) {
    throw new ConfigError(["WEBHOOK_RETENTION_MS: must be longer than all retry delays together"]);
  }
  return config;
}

/**
 * Checks a name server as the resolver will, so that the start reports the fault with the others.
 */
function checkNameServer(text: string): void {
  new Resolver().setServers([text]);
}

function exemption(): Setting<Network> {
  const { read, schema } = network();
  return { fallback: undefined, schema, read: (value) => parseNetwork(read(value)) };
}
