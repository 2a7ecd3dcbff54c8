import { AUDIT_SETTINGS, DATABASE_SETTINGS, EVENT_SETTINGS } from "../shared/io/base-config.ts";
import { durationMs, matching, readBy, type Schema, webAddress } from "../shared/io/config.ts";
import { createSecretBox } from "../shared/io/encryption.ts";

/** The settings of the tenant service. */
export const TENANT_SETTINGS = {
  ...DATABASE_SETTINGS,
  ...AUDIT_SETTINGS,
  ...EVENT_SETTINGS,
  /** Encrypts stored answers that hold the secret of a new key. */
  ENCRYPTION_KEYS: readBy(createSecretBox),
  /** How long an idempotency key is kept; the same setting as messaging's. */
  IDEMPOTENCY_TTL_MS: durationMs(86_400_000, 100),
  /** The mail server, `smtp://user:password@host:587`; empty sends no mail, and people sign in by portal links. */
  SMTP_URL: matching(
    /^(?:smtps?:\/\/[^\s/]+\/?)?$/,
    "an smtp:// or smtps:// address, or empty",
    "",
  ),
  /** The sender of mails, an address alone or `Name <address>`. */
  MAIL_FROM: matching(/^[^\r\n]{3,200}$/, "an e-mail address in one line", "no-reply@localhost"),
  /** The public address of the console, without a path; links in mails begin with it. Empty gives paths alone. */
  CONSOLE_URL: webAddress(""),
} as const satisfies Schema;
