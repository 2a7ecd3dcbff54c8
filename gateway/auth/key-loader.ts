import type { Client } from "@connectrpc/connect";
import { Mode } from "../../proto/gen/sms/v1/common_pb.js";
import {
  type AuthenticateResponse,
  KeyEnd,
  type TenantService,
} from "../../proto/gen/sms/v1/tenant_pb.js";
import { AppError } from "../../services/shared/core/errors.ts";
import { createDataLoader } from "../../services/shared/flow/data-loader.ts";
import { rpcAnswer } from "../../services/shared/rpc/call.ts";
import { tenantLimits } from "./caller.ts";
import { compileNetworks } from "./caller-address.ts";
import type { FoundCaller, LoadCaller, SecretEnd } from "./caller-cache.ts";

const TIMEOUT = { timeoutMs: 3000 } as const;

/** Creates the loader of API keys. Keys requested in the same tick go in one call. */
export function createKeyLoader(tenants: Client<typeof TenantService>): LoadCaller {
  const load = createDataLoader({
    name: "keys",
    batchMax: 256,
    load: async (hashes: readonly string[]) => {
      const requests = hashes.map(toRequest);
      const { answers } = await rpcAnswer(tenants.authenticateMany({ requests }, TIMEOUT));
      return hashes.map((_, at) => toCaller(answers[at]));
    },
  });
  return busyOnFailure(load);
}

/** Throws `service_unavailable`, which customers know, when the tenant service cannot answer. */
export function busyOnFailure(load: LoadCaller): LoadCaller {
  return (hashHex) =>
    load(hashHex).catch((cause: unknown) => {
      // Pass bugs on: they are logged as internal errors, and a retry does not help.
      if (!(cause instanceof AppError) || cause.code === "internal_error") throw cause;
      const message = "The service is busy; try again shortly.";
      throw new AppError("service_unavailable", message, { cause });
    });
}

function toRequest(hashHex: string) {
  return { secretSha256: Buffer.from(hashHex, "hex") };
}

const ENDS: ReadonlyMap<KeyEnd | undefined, SecretEnd> = new Map([
  [KeyEnd.REVOKED, "revoked"],
  [KeyEnd.EXPIRED, "expired"],
]);

function toCaller(answer: AuthenticateResponse | undefined): FoundCaller {
  const { key, tenant, ended } = answer ?? {};
  if (key === undefined || tenant === undefined) return ENDS.get(ended);
  const { allowedNetworks } = key;
  return {
    keyId: key.id,
    tenantId: tenant.id,
    mode: key.mode === Mode.TEST ? Mode.TEST : Mode.LIVE,
    scopes: new Set(key.scopes),
    allowsAddress: allowedNetworks.length === 0 ? () => true : compileNetworks(allowedNetworks),
    ...tenantLimits(tenant),
  };
}
