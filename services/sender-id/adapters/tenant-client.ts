import type { Client } from "@connectrpc/connect";
import type { TenantService } from "../../../proto/gen/sms/v1/tenant_pb.js";
import { AppError } from "../../shared/core/errors.ts";
import type { TenantDirectory } from "../app/sender-ids.ts";

/** The tenant directory over the tenant service's RPC. */
export function createTenantDirectory(client: Client<typeof TenantService>): TenantDirectory {
  return {
    async isActive(tenantId) {
      const { tenant } = await client.getTenant({ idOrName: tenantId });
      // The RPC also finds tenants by name, and only ids are valid here.
      if (tenant?.id !== tenantId) throw new AppError("not_found", "There is no such tenant.");
      return !tenant.suspended;
    },
  };
}
