import type { Client } from "@connectrpc/connect";
import { Mode } from "../../proto/gen/sms/v1/common_pb.js";
import type { AuthenticateResponse, TenantService } from "../../proto/gen/sms/v1/tenant_pb.js";
import { AppError } from "../../services/shared/core/errors.ts";
import { createDataLoader } from "../../services/shared/flow/data-loader.ts";
import { rpcAnswer } from "../../services/shared/rpc/call.ts";
import type { Caller } from "../http/request-state.ts";
import { compileNetworks } from "./caller-address.ts";

/**
 * Who a key (the hex of its secret's SHA-256) belongs to; undefined for one that is not good. Throws
 * `service_unavailable` when nobody can tell for now.
 */
export type LoadKey = (hashHex: string) => Promise<Caller | undefined>;

const TIMEOUT = { timeoutMs: 3000 } as const;

/** Loads keys; those of the same moment go in one call. */
export function createKeyLoader(tenants: Client<typeof TenantService>): LoadKey {
  const ask = createDataLoader({
    name: "keys",
    batchMax: 256,
    load: async (hashes: readonly string[]) => {
      const requests = hashes.map(toRequest);
      const { answers } = await rpcAnswer(tenants.authenticateMany({ requests }, TIMEOUT));
      return hashes.map((_, at) => toCaller(answers[at]));
    },
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

function toCaller(answer: AuthenticateResponse | undefined): Caller | undefined {
  const { key, tenant } = answer ?? {};
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
