import { AUDIT_SETTINGS, DATABASE_SETTINGS, EVENT_SETTINGS } from "../shared/io/base-config.ts";
import { durationMs, type Schema } from "../shared/io/config.ts";

/** The settings of the sender-ID service. */
export const SENDER_ID_SETTINGS = {
  ...DATABASE_SETTINGS,
  ...AUDIT_SETTINGS,
  ...EVENT_SETTINGS,
  /** How long an idempotency key is kept; the same setting as messaging's. */
  IDEMPOTENCY_TTL_MS: durationMs(86_400_000, 100),
} as const satisfies Schema;
