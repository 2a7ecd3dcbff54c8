import type { Configuration } from "openid-client";
import type { Clock } from "../../shared/core/clock.ts";
import { AppError } from "../../shared/core/errors.ts";
import type { Logger } from "../../shared/core/logger.ts";
import { createRefreshAheadCache } from "../../shared/flow/refresh-ahead-cache.ts";
import type { OidcChecks, OidcIdentity, OidcProvider } from "../app/identity-ports.ts";

/** Timeout of each request to the provider. */
const TIMEOUT_S = 10;
/** The provider's description is read again after this time: its addresses and methods may change. */
const DESCRIPTION_MS = 3_600_000;
/** The scopes that are needed for a person's e-mail address. */
const SCOPE = "openid email";

export type OidcOptions = {
  readonly issuer: string;
  readonly clientId: string;
  /** Empty for a public client, which only PKCE protects. */
  readonly clientSecret: string;
  readonly clientAuth: "basic" | "post";
  readonly redirectUri: string;
  readonly log: Logger;
  readonly clock: Clock;
};

/**
 * Signs people in at an OpenID Connect provider: the code flow with PKCE, state and nonce (RFC 6749, RFC 7636, OpenID
 * Connect Core 1.0 section 3.1). The library is loaded at the first sign-in, so installations without a provider do
 * not pay for it.
 */
export function createOidcProvider(options: OidcOptions): OidcProvider {
  const { redirectUri, log, clock } = options;
  const descriptions = createRefreshAheadCache({
    ...{ maxAgeMs: DESCRIPTION_MS, sizeMax: 1, clock },
    load: () => discover(options),
  });

  async function configure(): Promise<Configuration> {
    try {
      return await descriptions.get(options.issuer);
    } catch (cause) {
      log.warn({ error: cause }, "the OpenID Connect provider did not answer");
      const text = "The sign-in service does not answer; try again later.";
      throw new AppError("service_unavailable", text, { cause });
    }
  }

  return {
    async begin() {
      const client = await import("openid-client");
      const config = await configure();
      const checks: OidcChecks = {
        state: client.randomState(),
        nonce: client.randomNonce(),
        verifier: client.randomPKCECodeVerifier(),
      };
      const url = client.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: SCOPE,
        state: checks.state,
        nonce: checks.nonce,
        code_challenge: await client.calculatePKCECodeChallenge(checks.verifier),
        code_challenge_method: "S256",
      });
      return { url: url.href, checks };
    },

    async complete(query, checks) {
      const client = await import("openid-client");
      const config = await configure();
      const address = new URL(redirectUri);
      address.search = query;
      try {
        const tokens = await client.authorizationCodeGrant(config, address, {
          expectedState: checks.state,
          expectedNonce: checks.nonce,
          pkceCodeVerifier: checks.verifier,
          idTokenExpected: true,
        });
        const claims = tokens.claims();
        if (claims === undefined) throw new Error("the provider gave no ID token");
        // A provider may keep the address out of the ID token.
        const isComplete = typeof claims.email === "string";
        return toIdentity(
          isComplete ? claims : await client.fetchUserInfo(config, tokens.access_token, claims.sub),
        );
      } catch (cause) {
        log.warn({ error: cause }, "a sign-in through OpenID Connect was refused");
        throw new AppError("unauthenticated", "The sign-in was refused.", { cause });
      }
    },
  };
}

async function discover(options: OidcOptions): Promise<Configuration> {
  const client = await import("openid-client");
  const issuer = new URL(options.issuer);
  const { clientId, clientSecret, clientAuth } = options;
  const authentication =
    clientSecret === ""
      ? client.None()
      : clientAuth === "post"
        ? client.ClientSecretPost(clientSecret)
        : client.ClientSecretBasic(clientSecret);
  // `config.ts` permits http: for loopback alone.
  const insecure = issuer.protocol === "http:" ? [client.allowInsecureRequests] : [];
  return client.discovery(issuer, clientId, undefined, authentication, {
    // Without these checks the library would not verify the signature of an ID token from the token endpoint.
    execute: [...insecure, client.enableNonRepudiationChecks],
    timeout: TIMEOUT_S,
  });
}

function toIdentity(claims: Readonly<Record<string, unknown>>): OidcIdentity {
  const { email, email_verified: verified } = claims;
  if (typeof email !== "string") throw new Error("the provider gave no e-mail address");
  return { email, isEmailVerified: verified === true };
}
