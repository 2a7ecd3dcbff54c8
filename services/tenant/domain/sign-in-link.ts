import type { Role } from "../../shared/core/roles.ts";

/** How long each kind of link works. */
export const LINK_MS = {
  sign_in: 15 * 60_000,
  invitation: 7 * 86_400_000,
  portal: 10 * 60_000,
  /** After a sign-in at an OpenID Connect provider: long enough to type a code of an authenticator. */
  oidc: 5 * 60_000,
} as const;

/** The longest that a portal link may be asked for. */
export const PORTAL_MAX_MS = 3_600_000;

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
