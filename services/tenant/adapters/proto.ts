import type { MessageInitShape } from "@bufbuild/protobuf";
import type { TenantSchema } from "../../../proto/gen/sms/v1/tenant_pb.js";
import type { Tenant } from "../domain/tenant.ts";

/** A tenant as a message. */
export function tenantToProto(tenant: Tenant): MessageInitShape<typeof TenantSchema> {
  return {
    id: tenant.id,
    name: tenant.name,
    suspended: tenant.isSuspended,
    emailVerified: tenant.isEmailVerified,
    rateLimit: tenant.rateLimit,
    burst: tenant.burst,
    bulkMax: tenant.bulkMax,
    currency: tenant.currency,
    plan: tenant.plan,
    redactBodies: tenant.redactsBodies,
    rejectsInQuietHours: tenant.rejectsInQuietHours,
    createdAtMs: BigInt(tenant.createdAtMs),
    updatedAtMs: BigInt(tenant.updatedAtMs),
  };
}
