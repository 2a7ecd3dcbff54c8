import type { Clock } from "../../shared/core/clock.ts";
import { AppError } from "../../shared/core/errors.ts";
import { hashSecret } from "../domain/api-key.ts";
import { newSecretText } from "../domain/secrets.ts";
import type { OidcProvider, OidcSignInStore } from "./identity-ports.ts";

/** The longest time between the start of a sign-in and the return from the provider. */
export const OIDC_SIGN_IN_MS = 10 * 60_000;

const QUERY_CHARS_MAX = 8192;

/** The use cases of sign-in through an OpenID Connect provider, for the people of one console. */
export type OidcSignInService = ReturnType<typeof createOidcSignInService>;

export function createOidcSignInService(parts: {
  /** Absent for installations without one. */
  readonly provider: OidcProvider | undefined;
  readonly store: OidcSignInStore;
  /** Makes a one-time link for the person of an address that the provider verified; throws `not_found`. */
  readonly linkFor: (email: string) => Promise<string>;
  readonly clock: Clock;
}) {
  const { provider, store, linkFor, clock } = parts;

  function found(): OidcProvider {
    if (provider !== undefined) return provider;
    throw new AppError("not_found", "This installation has no such way to sign in.");
  }

  return {
    /** Errors: `not_found`, `service_unavailable` when the provider does not answer. */
    async begin(): Promise<{ url: string; browserSecret: string }> {
      const { url, checks } = await found().begin();
      const browserSecret = newSecretText("oid");
      const expiresAtMs = clock.now() + OIDC_SIGN_IN_MS;
      await store.insert(hashSecret(browserSecret), checks, expiresAtMs);
      return { url, browserSecret };
    },

    /**
     * Completes a sign-in that the same browser began; returns the token of a sign-in link, once. The link asks for the
     * second factor like any other. Errors: `unauthenticated`, `email_not_verified`, `not_found` for an address of no
     * person here, `service_unavailable`.
     */
    async complete(browserSecret: string, query: string): Promise<string> {
      const known = found();
      const begun = await store.take(hashSecret(browserSecret));
      if (begun === undefined || clock.now() >= begun.expiresAtMs) {
        throw new AppError("unauthenticated", "The sign-in took too long, or began elsewhere.");
      }
      const identity = await known.complete(query.slice(0, QUERY_CHARS_MAX), begun.checks);
      // With an address that its owner has not confirmed, a stranger could sign in as any person.
      if (!identity.isEmailVerified) {
        throw new AppError("email_not_verified", "The provider has not verified this address.");
      }
      return linkFor(identity.email);
    },
  };
}
