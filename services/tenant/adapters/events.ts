import type { Nats } from "../../shared/io/nats.ts";
import type { TenantNotices } from "../app/tenants.ts";

/**
 * Tells caches elsewhere to forget. These are NATS core messages: losing one costs at most the
 * five seconds a cached entry lives.
 */
export function createTenantNotices(nats: Nats): TenantNotices {
  return {
    tenantChanged: (tenantId) => nats.connection.publish(`invalidate.tenant.${tenantId}`),
    keyChanged: (hash) =>
      nats.connection.publish(`invalidate.key.${Buffer.from(hash).toString("hex")}`),
  };
}
