import { AUDIT_SETTINGS, DATABASE_SETTINGS, EVENT_SETTINGS } from "../shared/io/base-config.ts";
import type { Schema } from "../shared/io/config.ts";

/** The settings of the sender-ID service. */
export const SENDER_ID_SETTINGS = {
  ...DATABASE_SETTINGS,
  ...AUDIT_SETTINGS,
  ...EVENT_SETTINGS,
} as const satisfies Schema;
