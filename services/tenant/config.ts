import { AUDIT_SETTINGS, DATABASE_SETTINGS, EVENT_SETTINGS } from "../shared/io/base-config.ts";
import {
  durationMs,
  matching,
  oneOf,
  readBy,
  type Schema,
  text,
  webAddress,
} from "../shared/io/config.ts";
import { createSecretBox } from "../shared/io/encryption.ts";

/** The settings of the tenant service. */
export const TENANT_SETTINGS = {
  ...DATABASE_SETTINGS,
  ...AUDIT_SETTINGS,
  ...EVENT_SETTINGS,
  /** Encrypts stored answers that hold the secret of a new key, and the secrets of second factors. */
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
  /**
   * The OpenID Connect provider, such as `https://login.example.com`; empty for none. It must be HTTPS, except on
   * loopback. Needs `OIDC_CLIENT_ID` and `CONSOLE_URL`. The provider sends browsers back to
   * `<CONSOLE_URL>/console/api/oidc/callback`.
   */
  OIDC_ISSUER: readBy(checkIssuer, ""),
  OIDC_CLIENT_ID: text(""),
  /** The client's secret; empty for a public client. */
  OIDC_CLIENT_SECRET: text(""),
  /** How the secret is sent: in the Authorization header, or in the body. */
  OIDC_CLIENT_AUTH: oneOf(["basic", "post"], "basic"),
  /** The provider's name on the button of the sign-in page. */
  OIDC_NAME: matching(/^[^\r\n]{1,60}$/, "a name of up to 60 characters", "single sign-on"),
  /** The public address of the operators' console, without a path, for links. */
  OPERATOR_CONSOLE_URL: webAddress(""),
  /**
   * The operators' OpenID Connect provider, with rules as of `OIDC_ISSUER`; empty for none. Needs
   * `OPERATOR_OIDC_CLIENT_ID` and `OPERATOR_CONSOLE_URL`. The provider sends browsers back to
   * `<OPERATOR_CONSOLE_URL>/operators/api/oidc/callback`.
   */
  OPERATOR_OIDC_ISSUER: readBy(checkIssuer, ""),
  OPERATOR_OIDC_CLIENT_ID: text(""),
  OPERATOR_OIDC_CLIENT_SECRET: text(""),
  OPERATOR_OIDC_CLIENT_AUTH: oneOf(["basic", "post"], "basic"),
  OPERATOR_OIDC_NAME: matching(
    /^[^\r\n]{1,60}$/,
    "a name of up to 60 characters",
    "single sign-on",
  ),
} as const satisfies Schema;

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** Requires HTTPS, except on loopback: over plain HTTP an attacker could sign in as any person. */
function checkIssuer(text: string): void {
  const url = URL.parse(text);
  const isLocal = url?.protocol === "http:" && LOOPBACK.test(url.hostname);
  if (url?.protocol === "https:" || isLocal) return;
  throw new Error("must be an https:// address");
}

/** A provider and the settings that it needs. */
const NEEDED = [
  ["OIDC_ISSUER", "OIDC_CLIENT_ID", "CONSOLE_URL"],
  ["OPERATOR_OIDC_ISSUER", "OPERATOR_OIDC_CLIENT_ID", "OPERATOR_CONSOLE_URL"],
] as const;

/** The faults of settings that need each other. */
export function oidcFaults(
  config: Readonly<Partial<Record<(typeof NEEDED)[number][number], string>>>,
): readonly string[] {
  return NEEDED.flatMap(([issuer, ...others]) =>
    (config[issuer] ?? "") === ""
      ? []
      : others
          .filter((name) => (config[name] ?? "") === "")
          .map((name) => `${name} is required with ${issuer}`),
  );
}
