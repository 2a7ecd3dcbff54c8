import type { ServiceImpl } from "@connectrpc/connect";
import type { TenantService } from "../../../proto/gen/sms/v1/tenant_pb.js";
import { checkGiven } from "../../shared/core/limits.ts";
import type { OidcSignInService } from "../app/oidc-sign-in.ts";
import type { SecondFactorService } from "../app/second-factors.ts";

/** Longest code that is accepted; a recovery code with its separators is shorter. */
export const CODE_CHARS_MAX = 64;
const SECRET_CHARS_MAX = 128;

/** The handlers for the second factor and for sign-in through a provider. */
export function signInHandlers(
  factors: SecondFactorService,
  oidc: OidcSignInService,
  methods: { readonly email: boolean; readonly oidcName: string },
): Partial<ServiceImpl<typeof TenantService>> {
  return {
    getSecondFactor: async ({ sessionId }) => {
      const found = await factors.get(sessionId);
      return {
        available: found.isAvailable,
        enabled: found.isEnabled,
        enabledAtMs: BigInt(found.enabledAtMs),
        recoveryCodesLeft: found.recoveryCodesLeft,
      };
    },
    beginSecondFactor: ({ sessionId }) => factors.begin(sessionId),
    enableSecondFactor: async ({ sessionId, code }) => ({
      recoveryCodes: [...(await factors.enable(sessionId, code.slice(0, CODE_CHARS_MAX)))],
    }),
    disableSecondFactor: async ({ sessionId, code }) => {
      await factors.disable(sessionId, code.slice(0, CODE_CHARS_MAX));
      return {};
    },
    resetSecondFactor: async ({ tenantId, personId, inAllTenants }) => {
      checkGiven("tenant_id", tenantId);
      await factors.reset(tenantId, personId, inAllTenants);
      return {};
    },
    getSignInMethods: async () => methods,
    beginOidcSignIn: () => oidc.begin(),
    completeOidcSignIn: async ({ browserSecret, query }) => ({
      token: await oidc.complete(browserSecret.slice(0, SECRET_CHARS_MAX), query),
    }),
  };
}
