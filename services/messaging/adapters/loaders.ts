/** Batched lookups of tenants and sender IDs. */
import type { Client } from "@connectrpc/connect";
import {
  type SenderIdResponse,
  type SenderIdService,
  SenderIdStatus,
} from "../../../proto/gen/sms/v1/sender_id_pb.js";
import type { Tenant, TenantService } from "../../../proto/gen/sms/v1/tenant_pb.js";
import { createDataLoader } from "../../shared/flow/data-loader.ts";
import { rpcAnswer } from "../../shared/rpc/call.ts";
import { readTrafficClass } from "../../shared/rpc/traffic-class.ts";
import type { TenantFacts, UsableSender } from "../app/ports.ts";

/** The deadline of calls to other services. */
export const CALL = { timeoutMs: 5000 } as const;

/** Loads a tenant's facts by id; undefined when there is no such tenant. */
export function createTenantLoader(client: Client<typeof TenantService>) {
  return createDataLoader({
    name: "tenants",
    batchMax: 256,
    load: async (ids: readonly string[]) => {
      const { tenants } = await rpcAnswer(client.getTenants({ ids: [...ids] }, CALL));
      const byId = new Map(tenants.map((tenant) => [tenant.id, toFacts(tenant)]));
      return ids.map((id) => byId.get(id));
    },
  });
}

/** The cache key of a tenant's sender ID; the same for names that differ only in case. */
export function senderKey(tenantId: string, name: string): string {
  return `${tenantId}|${name.toLowerCase()}`;
}

/** Loads a sender ID; undefined when it cannot be used now. */
export function createSenderLoader(client: Client<typeof SenderIdService>) {
  return createDataLoader({
    name: "sender IDs",
    batchMax: 32,
    load: async (keys: readonly string[]) => {
      const requests = keys.map(toRequest);
      const { answers } = await rpcAnswer(client.resolveSenderIds({ requests }, CALL));
      return keys.map((_, at) => usableSender(answers[at]));
    },
  });
}

function toRequest(senderKey: string) {
  const at = senderKey.indexOf("|");
  return { tenantId: senderKey.slice(0, at), name: senderKey.slice(at + 1) };
}

function toFacts(tenant: Tenant): TenantFacts {
  return {
    id: tenant.id,
    suspended: tenant.suspended,
    emailVerified: tenant.emailVerified,
    recipientsMax: tenant.bulkMax,
    currency: tenant.currency,
    plan: tenant.plan,
    redactBodies: tenant.redactBodies,
    rejectsInQuietHours: tenant.rejectsInQuietHours,
  };
}

/** A send may use a sender ID only while it is approved. */
function usableSender(answer: SenderIdResponse | undefined): UsableSender | undefined {
  const senderId = answer?.senderId;
  if (senderId?.status !== SenderIdStatus.APPROVED) return undefined;
  const trafficClass = readTrafficClass(senderId.trafficClass) ?? "transactional";
  return { name: senderId.name, trafficClass };
}
