/** Questions to the services that own tenants and sender IDs. */
import type { Client } from "@connectrpc/connect";
import {
  type SenderIdResponse,
  type SenderIdService,
  SenderIdStatus,
} from "../../../proto/gen/sms/v1/sender_id_pb.js";
import type { Tenant, TenantService } from "../../../proto/gen/sms/v1/tenant_pb.js";
import { AppError } from "../../shared/core/errors.ts";
import { createDataLoader } from "../../shared/flow/data-loader.ts";
import type { TenantFacts } from "../app/ports.ts";

/** Of every call to a neighbour. */
export const CALL = { timeoutMs: 5000 } as const;

/** Makes the question after a tenant's facts, by id; undefined when there is none. */
export function createTenantQuestions(client: Client<typeof TenantService>) {
  return createDataLoader({
    name: "tenants",
    atOnceMax: 256,
    together: async (ids: readonly string[]) => {
      const { tenants } = await client.getTenants({ ids: [...ids] }, CALL);
      const byId = new Map(tenants.map((tenant) => [tenant.id, tenant]));
      return ids.map((id) => byId.get(id));
    },
    each: async (id) => (await client.getTenant({ idOrName: id }, CALL)).tenant,
    read: (answer, id) =>
      answer instanceof AppError ? unlessMissing(answer) : toFacts(answer, id),
  });
}

/** The name under which a tenant's sender ID is asked for, without regard to case. */
export function senderKey(tenantId: string, name: string): string {
  return `${tenantId}|${name.toLowerCase()}`;
}

/** Makes the question after the registered spelling of a sender ID that can be used now. */
export function createSenderQuestions(client: Client<typeof SenderIdService>) {
  return createDataLoader({
    name: "sender IDs",
    atOnceMax: 32,
    together: async (keys: readonly string[]) =>
      (await client.resolveSenderIds({ requests: keys.map(toRequest) }, CALL)).answers,
    each: (key) => client.resolveSenderId(toRequest(key), CALL),
    read: (answer) => (answer instanceof AppError ? unlessMissing(answer) : usableName(answer)),
  });
}

function toRequest(senderKey: string) {
  const at = senderKey.indexOf("|");
  return { tenantId: senderKey.slice(0, at), name: senderKey.slice(at + 1) };
}

function unlessMissing(error: AppError): undefined | AppError {
  return error.code === "not_found" ? undefined : error;
}

function toFacts(tenant: Tenant | undefined, askedId: string): TenantFacts | undefined {
  if (tenant === undefined || tenant.id !== askedId) return undefined;
  return {
    id: tenant.id,
    suspended: tenant.suspended,
    emailVerified: tenant.emailVerified,
    recipientsMax: tenant.bulkMax,
    currency: tenant.currency,
    plan: tenant.plan,
    redactBodies: tenant.redactBodies,
  };
}

function usableName({ senderId }: SenderIdResponse): string | undefined {
  return senderId?.status === SenderIdStatus.APPROVED ? senderId.name : undefined;
}
