import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { ConnectRouter } from "@connectrpc/connect";
import { Mode } from "../../../proto/gen/sms/v1/common_pb.js";
import {
  type ApiKeySchema,
  AuthenticateResponseSchema,
  TenantService as TenantRpc,
} from "../../../proto/gen/sms/v1/tenant_pb.js";
import { isId } from "../../shared/core/ids.ts";
import { checkCursor, checkItems, checkKnown, pageLimit } from "../../shared/core/limits.ts";
import type { AuditLog } from "../../shared/io/audit-log.ts";
import { auditHandler } from "../../shared/rpc/audit-handler.ts";
import type { Authenticated, TenantService } from "../app/tenants.ts";
import type { ApiKey } from "../domain/api-key.ts";
import type { identityHandlers } from "./identity-rpc.ts";
import { tenantToProto } from "./proto.ts";

/** Most tenants or keys of one lookup. */
const LOOKUPS_MAX = 256;

const MODE_FROM_PROTO: Readonly<Partial<Record<Mode, ApiKey["mode"]>>> = {
  [Mode.UNSPECIFIED]: "live",
  [Mode.LIVE]: "live",
  [Mode.TEST]: "test",
};

/** Serves `sms.v1.TenantService`: mapping between protobuf and the domain. */
export function tenantRoutes(
  service: TenantService,
  identity: ReturnType<typeof identityHandlers>,
  audit: AuditLog,
) {
  return (router: ConnectRouter): void => {
    router.service(TenantRpc, {
      ...auditHandler(TenantRpc, audit),
      ...identity,
      createTenant: async (request) => ({
        tenant: tenantToProto(
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
        tenant: tenantToProto(await service.getTenant(request.idOrName)),
      }),
      getTenants: async ({ ids }) => {
        checkItems("ids", ids.length, 1, LOOKUPS_MAX);
        return { tenants: (await service.findTenants(ids)).map(tenantToProto) };
      },
      listTenants: async (request) => {
        checkCursor(request.cursor === "" || isId("tenant", request.cursor));
        const page = await service.listTenants(pageLimit(request.limit), request.cursor);
        return { tenants: page.tenants.map(tenantToProto), nextCursor: page.nextCursor };
      },
      updateTenant: async (request) => ({
        tenant: tenantToProto(
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
        const created = await service.createApiKey({
          tenantId: request.tenantId,
          mode: checkKnown("mode", MODE_FROM_PROTO[request.mode]),
          scopes: request.scopes,
          allowedNetworks: request.allowedNetworks,
        });
        return { key: keyToProto(created.key), secret: created.secret };
      },
      listApiKeys: async (request) => ({
        keys: (await service.listApiKeys(request.tenantId)).map(keyToProto),
      }),
      revokeApiKey: async (request) => ({
        key: keyToProto(await service.revokeApiKey(request.tenantId, request.keyId)),
      }),
      authenticate: async ({ secretSha256 }) =>
        create(AuthenticateResponseSchema, authenticated(await service.authenticate(secretSha256))),
      authenticateMany: async ({ requests }) => {
        checkItems("requests", requests.length, 1, LOOKUPS_MAX);
        const hashes = requests.map(({ secretSha256 }) => secretSha256);
        const results = await service.authenticateMany(hashes);
        return { answers: results.map((one) => (one === undefined ? {} : authenticated(one))) };
      },
    });
  };
}

function authenticated({
  key,
  tenant,
}: Authenticated): MessageInitShape<typeof AuthenticateResponseSchema> {
  return { key: keyToProto(key), tenant: tenantToProto(tenant) };
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
