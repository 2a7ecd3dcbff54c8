import type { Client } from "@connectrpc/connect";
import { Mode } from "../../proto/gen/sms/v1/common_pb.js";
import type { AuthenticateResponse, TenantService } from "../../proto/gen/sms/v1/tenant_pb.js";
import { AppError } from "../../services/shared/core/errors.ts";
import { createDataLoader } from "../../services/shared/flow/data-loader.ts";
import type { Caller } from "../http/request-state.ts";
import { compileNetworks } from "./caller-address.ts";

/**
 * Who a key (the hex of its secret's SHA-256) belongs to; undefined for one that is not good. Throws
 * `service_unavailable` when nobody can tell for now.
 */
export type AskKey = (hashHex: string) => Promise<Caller | undefined>;

const TIMEOUT = { timeoutMs: 3000 } as const;

/** Makes the question; keys of one moment are asked for in one call. */
export function createKeyQuestions(tenants: Client<typeof TenantService>): AskKey {
  const ask = createDataLoader({
    name: "keys",
    atOnceMax: 256,
    together: async (hashes: readonly string[]) => {
      const requests = hashes.map(toRequest);
      return (await tenants.authenticateMany({ requests }, TIMEOUT)).answers;
    },
    each: (hashHex) => tenants.authenticate(toRequest(hashHex), TIMEOUT),
    read: (answer) => (answer instanceof AppError ? unlessRefused(answer) : toCaller(answer)),
  });
  return (hashHex) =>
    ask(hashHex).catch((cause: unknown) => {
      // A fault of ours is shown as one, and logged; it does not pass with time.
      if (!(cause instanceof AppError) || cause.code === "internal_error") throw cause;
      const message = "The service is busy; try again shortly.";
      throw new AppError("service_unavailable", message, { cause });
    });
}

function toRequest(hashHex: string) {
  return { secretSha256: Buffer.from(hashHex, "hex") };
}

function unlessRefused(error: AppError): undefined | AppError {
  return error.code === "unauthenticated" ? undefined : error;
}

function toCaller({ key, tenant }: AuthenticateResponse): Caller | undefined {
  if (key === undefined || tenant === undefined) return undefined;
  const { allowedNetworks } = key;
  return {
    keyId: key.id,
    tenantId: tenant.id,
    mode: key.mode === Mode.TEST ? Mode.TEST : Mode.LIVE,
    scopes: new Set(key.scopes),
    allowsAddress: allowedNetworks.length === 0 ? () => true : compileNetworks(allowedNetworks),
    isSuspended: tenant.suspended,
    isEmailVerified: tenant.emailVerified,
    rateLimit: tenant.rateLimit,
    burst: tenant.burst,
    bulkMax: tenant.bulkMax,
    currency: tenant.currency,
  };
}
