import type { Client } from "@connectrpc/connect";
import { Mode } from "../../proto/gen/sms/v1/common_pb.js";
import type {
  AuthenticateSessionsResponse_Answer,
  TenantService,
} from "../../proto/gen/sms/v1/tenant_pb.js";
import { createDataLoader } from "../../services/shared/flow/data-loader.ts";
import { rpcAnswer } from "../../services/shared/rpc/call.ts";
import { roleName } from "../../services/shared/rpc/role.ts";
import { type Caller, tenantLimits } from "./caller.ts";
import type { LoadCaller } from "./caller-cache.ts";
import { busyOnFailure } from "./key-loader.ts";

const TIMEOUT = { timeoutMs: 3000 } as const;

/** Creates the loader of console sessions. Sessions requested in the same tick go in one call. */
export function createSessionLoader(tenants: Client<typeof TenantService>): LoadCaller {
  const load = createDataLoader({
    name: "sessions",
    batchMax: 256,
    load: async (hashes: readonly string[]) => {
      const secretSha256 = hashes.map((one) => Buffer.from(one, "hex"));
      const { answers } = await rpcAnswer(tenants.authenticateSessions({ secretSha256 }, TIMEOUT));
      return hashes.map((_, at) => toCaller(answers[at]));
    },
  });
  return busyOnFailure(load);
}

function toCaller(answer: AuthenticateSessionsResponse_Answer | undefined): Caller | undefined {
  const { session, tenant } = answer ?? {};
  if (session === undefined || tenant === undefined) return undefined;
  return {
    keyId: session.id,
    tenantId: tenant.id,
    mode: Mode.LIVE,
    scopes: new Set(session.scopes),
    allowsAddress: () => true,
    ...tenantLimits(tenant),
    session: {
      id: session.id,
      name: session.name,
      role: roleName(session.role),
      tenantName: tenant.name,
      expiresAtMs: Number(session.expiresAtMs),
    },
  };
}
