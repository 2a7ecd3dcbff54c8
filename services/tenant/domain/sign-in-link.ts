import { AppError } from "../../shared/core/errors.ts";
import { invalidField } from "../../shared/core/limits.ts";
import type { Role } from "../../shared/core/roles.ts";

/** How long each kind of link works. */
export const LINK_MS = {
  sign_in: 15 * 60_000,
  invitation: 7 * 86_400_000,
  /** Portal links and links of operators, unless the caller asks for another lifetime. */
  portal: 10 * 60_000,
  /** After a sign-in at an OpenID Connect provider: long enough to type a code of an authenticator. */
  oidc: 5 * 60_000,
} as const;

const ASKED_MAX_MS = 3_600_000;

/** The lifetime of a link for which the caller may choose one; 0 means the default. Throws `validation_error`. */
export function askedLifetime(wantedMs: number): number {
  const lifetimeMs = wantedMs || LINK_MS.portal;
  if (lifetimeMs >= 1000 && lifetimeMs <= ASKED_MAX_MS) return lifetimeMs;
  throw invalidField("lifetime_ms", "out_of_range", "must be from a second to an hour");
}

/** The refusal of a link; the same for an unknown, a used and an expired link. */
export function refusedLink(): AppError {
  const text = "This link was used already or is too old; ask for a new one.";
  return new AppError("not_found", text);
}

/** A link that signs in once. */
export type SignInLink = {
  readonly kind: keyof typeof LINK_MS;
  readonly expiresAtMs: number;
  /** The person who is signed in; absent for a portal link. */
  readonly personId?: string;
  /** The tenant; absent for a sign-in, which opens the tenant that the person joined first. */
  readonly tenantId?: string;
  /** The role and name of a portal link. */
  readonly role?: Role;
  readonly name?: string;
};
