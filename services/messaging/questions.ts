/**
 * Questions to the services that own tenants and sender IDs. What is asked in the same moment goes in
 * one call, because a send of each of many tenants would otherwise cost a call and a query for both.
 */
import type { Client } from "@connectrpc/connect";
import {
  type SenderIdResponse,
  type SenderIdService,
  SenderIdStatus,
} from "../../proto/gen/sms/v1/sender_id_pb.js";
import type { Tenant, TenantService } from "../../proto/gen/sms/v1/tenant_pb.js";
import { createBatcher } from "../shared/core/batcher.ts";
import type { AppError } from "../shared/core/errors.ts";
import { askTogether } from "../shared/rpc/ask-together.ts";
import { toAppError } from "../shared/rpc/error-status.ts";
import type { TenantFacts } from "./service/ports.ts";

/** Of every call to a neighbour. */
export const CALL = { timeoutMs: 5000 } as const;

/** A batch that is not full leaves this long after the one before it; alone it leaves at once. */
const PACE_MS = 5;
const BOUNDS = { queueMax: 8192, lanes: 4, paceMs: PACE_MS, isTransient: () => true } as const;

/** A neighbour's answer, or its error as ours. */
export async function answered<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    throw toAppError(error);
  }
}

/** Makes the question after a tenant's facts, by id; undefined when there is none. */
export function createTenantQuestions(client: Client<typeof TenantService>) {
  const questions = createBatcher<string, TenantFacts | undefined>({
    ...BOUNDS,
    name: "tenants",
    batchMax: 256,
    async flush(ids) {
      const answers = await answered(
        askTogether(
          ids,
          async (all) => {
            const { tenants } = await client.getTenants({ ids: [...all] }, CALL);
            const byId = new Map(tenants.map((tenant) => [tenant.id, tenant]));
            return all.map((id) => byId.get(id));
          },
          async (id) => (await client.getTenant({ idOrName: id }, CALL)).tenant,
        ),
      );
      return answers.map((tenant, at) => known(tenant, (one) => toFacts(one, ids[at])));
    },
  });
  return (id: string) => questions.add(id);
}

/** The name under which a tenant's sender ID is asked for, without regard to case. */
export function senderKey(tenantId: string, name: string): string {
  return `${tenantId}|${name.toLowerCase()}`;
}

/** Makes the question after the registered spelling of a sender ID that can be used now. */
export function createSenderQuestions(client: Client<typeof SenderIdService>) {
  const questions = createBatcher<string, string | undefined>({
    ...BOUNDS,
    name: "sender IDs",
    batchMax: 32,
    async flush(keys) {
      const requests = keys.map((key) => {
        const at = key.indexOf("|");
        return { tenantId: key.slice(0, at), name: key.slice(at + 1) };
      });
      const answers = await answered(
        askTogether(
          requests,
          async (all) => (await client.resolveSenderIds({ requests: [...all] }, CALL)).answers,
          (one) => client.resolveSenderId(one, CALL),
        ),
      );
      return answers.map((answer) => known(answer, usableName));
    },
  });
  return (key: string) => questions.add(key);
}

/** Reads one answer of many: what does not exist is undefined, any other failure stays one. */
function known<Answer, Fact>(
  answer: Answer | Error | undefined,
  read: (answer: Answer) => Fact | undefined,
): Fact | undefined | Error {
  if (answer === undefined) return undefined;
  if (!(answer instanceof Error)) return read(answer);
  const error: AppError = toAppError(answer);
  return error.code === "not_found" ? undefined : error;
}

function toFacts(tenant: Tenant, askedId: string | undefined): TenantFacts | undefined {
  if (tenant.id !== askedId) return undefined;
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
