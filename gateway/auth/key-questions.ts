import type { Client } from "@connectrpc/connect";
import { Mode } from "../../proto/gen/sms/v1/common_pb.js";
import type { AuthenticateResponse, TenantService } from "../../proto/gen/sms/v1/tenant_pb.js";
import { createBatcher } from "../../services/shared/core/batcher.ts";
import { AppError } from "../../services/shared/core/errors.ts";
import { askTogether } from "../../services/shared/rpc/ask-together.ts";
import { toAppError } from "../../services/shared/rpc/error-status.ts";
import type { Caller } from "../request-state.ts";
import { compileNetworks } from "./caller-address.ts";

/**
 * Who a key (the hex of its secret's SHA-256) belongs to; undefined for one that is not good. Throws
 * `service_unavailable` when nobody can tell.
 */
export type AskKey = (hashHex: string) => Promise<Caller | undefined>;

const TIMEOUT = { timeoutMs: 3000 } as const;

/**
 * What is asked in the same moment goes in one call: with thousands of tenants that send now and
 * then, a call for each request would cost more than its acceptance.
 */
export function createKeyQuestions(tenants: Client<typeof TenantService>): AskKey {
  const questions = createBatcher<string, Caller | undefined>({
    name: "keys",
    batchMax: 256,
    queueMax: 8192,
    lanes: 4,
    paceMs: 5,
    isTransient: () => true,
    async flush(hashes) {
      const requests = hashes.map((hex) => ({ secretSha256: Buffer.from(hex, "hex") }));
      const answers = await askTogether(
        requests,
        async (all) => (await tenants.authenticateMany({ requests: [...all] }, TIMEOUT)).answers,
        (one) => tenants.authenticate(one, TIMEOUT),
      );
      return answers.map((answer) =>
        answer instanceof Error ? refused(answer) : toCaller(answer),
      );
    },
  });
  return async (hashHex) => {
    try {
      return await questions.add(hashHex);
    } catch (cause) {
      if (cause instanceof AppError) throw cause;
      throw unavailable(cause);
    }
  };
}

function refused(error: Error): undefined | AppError {
  return toAppError(error).code === "unauthenticated" ? undefined : unavailable(error);
}

function unavailable(cause: unknown): AppError {
  return new AppError("service_unavailable", "The service is busy; try again shortly.", { cause });
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
