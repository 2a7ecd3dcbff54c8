import { AUDIT_SETTINGS, DATABASE_SETTINGS, EVENT_SETTINGS } from "../shared/io/base-config.ts";
import { matching, type Schema, webAddress } from "../shared/io/config.ts";

/** The settings of the tenant service. */
export const TENANT_SETTINGS = {
  ...DATABASE_SETTINGS,
  ...AUDIT_SETTINGS,
  ...EVENT_SETTINGS,
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
