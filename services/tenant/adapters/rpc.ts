import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { ConnectRouter } from "@connectrpc/connect";
import { Mode } from "../../../proto/gen/sms/v1/common_pb.js";
import {
  type ApiKeySchema,
  AuthenticateResponseSchema,
  TenantService as TenantRpc,
  type TenantSchema,
} from "../../../proto/gen/sms/v1/tenant_pb.js";
import { isId } from "../../shared/core/ids.ts";
import { checkCursor, checkItems, checkKnown, pageLimit } from "../../shared/core/limits.ts";
import type { Authenticated, TenantService } from "../app/tenants.ts";
import type { ApiKey } from "../domain/api-key.ts";
import type { Tenant } from "../domain/tenant.ts";

/** Tenants or keys asked for in one call. */
const ASKED_MAX = 256;

const MODE_FROM_PROTO: Readonly<Partial<Record<Mode, ApiKey["mode"]>>> = {
  [Mode.UNSPECIFIED]: "live",
  [Mode.LIVE]: "live",
  [Mode.TEST]: "test",
};

/** Routes of `sms.v1.TenantService`: mapping and nothing else. */
export function tenantRoutes(service: TenantService) {
  return (router: ConnectRouter): void => {
    router.service(TenantRpc, {
      createTenant: async (request) => ({
        tenant: toProto(
          await service.createTenant({
            name: request.name,
            rateLimit: request.rateLimit || undefined,
            burst: request.burst || undefined,
            bulkMax: request.bulkMax || undefined,
            plan: request.plan || undefined,
            isEmailVerified: request.emailVerified,
            ...(request.currency === "" ? {} : { currency: request.currency }),
          }),
        ),
      }),
      getTenant: async (request) => ({
        tenant: toProto(await service.getTenant(request.idOrName)),
      }),
      getTenants: async ({ ids }) => {
        checkItems("ids", ids.length, 1, ASKED_MAX);
        return { tenants: (await service.findTenants(ids)).map(toProto) };
      },
      listTenants: async (request) => {
        checkCursor(request.cursor === "" || isId("tenant", request.cursor));
        const page = await service.listTenants(pageLimit(request.limit), request.cursor);
        return { tenants: page.tenants.map(toProto), nextCursor: page.nextCursor };
      },
      updateTenant: async (request) => ({
        tenant: toProto(
          await service.updateTenant(request.tenantId, {
            isSuspended: request.suspended,
            isEmailVerified: request.emailVerified,
            rateLimit: request.rateLimit,
            burst: request.burst,
            bulkMax: request.bulkMax,
            plan: request.plan,
            redactsBodies: request.redactBodies,
          }),
        ),
      }),
      createApiKey: async (request) => {
        const made = await service.createApiKey({
          tenantId: request.tenantId,
          mode: checkKnown("mode", MODE_FROM_PROTO[request.mode]),
          scopes: request.scopes,
          allowedNetworks: request.allowedNetworks,
        });
        return { key: keyToProto(made.key), secret: made.secret };
      },
      listApiKeys: async (request) => ({
        keys: (await service.listApiKeys(request.tenantId)).map(keyToProto),
      }),
      revokeApiKey: async (request) => ({
        key: keyToProto(await service.revokeApiKey(request.keyId)),
      }),
      authenticate: async ({ secretSha256 }) =>
        create(AuthenticateResponseSchema, found(await service.authenticate(secretSha256))),
      authenticateMany: async ({ requests }) => {
        checkItems("requests", requests.length, 1, ASKED_MAX);
        const hashes = requests.map(({ secretSha256 }) => secretSha256);
        const answers = await service.authenticateMany(hashes);
        return { answers: answers.map((one) => (one === undefined ? {} : found(one))) };
      },
    });
  };
}

function found({
  key,
  tenant,
}: Authenticated): MessageInitShape<typeof AuthenticateResponseSchema> {
  return { key: keyToProto(key), tenant: toProto(tenant) };
}

function toProto(tenant: Tenant): MessageInitShape<typeof TenantSchema> {
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
    createdAtMs: BigInt(tenant.createdAtMs),
    updatedAtMs: BigInt(tenant.updatedAtMs),
  };
}

function keyToProto(key: ApiKey): MessageInitShape<typeof ApiKeySchema> {
  return {
    id: key.id,
    tenantId: key.tenantId,
    mode: key.mode === "test" ? Mode.TEST : Mode.LIVE,
    scopes: [...key.scopes],
    allowedNetworks: [...key.allowedNetworks],
    createdAtMs: BigInt(key.createdAtMs),
    revokedAtMs: BigInt(key.revokedAtMs ?? 0),
  };
}
