import type { Nats } from "../../shared/io/nats.ts";
import type { SessionInvalidation } from "../app/identity-ports.ts";
import type { TenantInvalidation } from "../app/tenants.ts";

/**
 * Publishes cache invalidations as NATS core messages. After a lost message the gateway's cache is
 * out of date for at most five seconds, the lifetime of its entries.
 */
export function createTenantInvalidation(nats: Nats): TenantInvalidation & SessionInvalidation {
  return {
    tenantChanged: (tenantId) => nats.connection.publish(`invalidate.tenant.${tenantId}`),
    keyChanged: (hash) =>
      nats.connection.publish(`invalidate.key.${Buffer.from(hash).toString("hex")}`),
    sessionEnded: (hash) =>
      nats.connection.publish(`invalidate.session.${Buffer.from(hash).toString("hex")}`),
  };
}
