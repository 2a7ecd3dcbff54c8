import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import type { ConnectRouter, ServiceImpl } from "@connectrpc/connect";
import { Mode } from "../../../proto/gen/sms/v1/common_pb.js";
import {
  type ApiKeySchema,
  AuthenticateResponseSchema,
  type IssueApiKeyRequest,
  IssueApiKeyResponseSchema,
  KeyEnd as KeyEndProto,
  TenantService as TenantRpc,
} from "../../../proto/gen/sms/v1/tenant_pb.js";
import { isId } from "../../shared/core/ids.ts";
import {
  checkCursor,
  checkItems,
  checkKnown,
  invalidField,
  PAGE_MAX,
  pageLimit,
} from "../../shared/core/limits.ts";
import { runOnce } from "../../shared/core/run-once.ts";
import type { AuditLog } from "../../shared/io/audit-log.ts";
import { auditHandler } from "../../shared/rpc/audit-handler.ts";
import { readMode } from "../../shared/rpc/mode.ts";
import { readRequestKey } from "../../shared/rpc/request-key.ts";
import type { Authenticated, TenantService } from "../app/tenants.ts";
import type { ApiKey, KeyEnd } from "../domain/api-key.ts";
import { tenantToProto } from "./proto.ts";
import type { SealedAnswers } from "./sealed-answers.ts";

/** Most tenants or keys of one lookup. */
const LOOKUPS_MAX = 256;
/** Longest text of a search for names. */
const NAME_CHARS_MAX = 100;

const MODE_FROM_PROTO: Readonly<Partial<Record<Mode, ApiKey["mode"]>>> = {
  [Mode.UNSPECIFIED]: "live",
  [Mode.LIVE]: "live",
  [Mode.TEST]: "test",
};

/** Serves `sms.v1.TenantService`: mapping between protobuf and the domain. */
export function tenantRoutes(
  service: TenantService,
  identity: Partial<ServiceImpl<typeof TenantRpc>>,
  audit: AuditLog,
  answers: SealedAnswers,
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
        const { limit, cursor, nameContains } = request;
        if (nameContains.length > NAME_CHARS_MAX) {
          throw invalidField(
            "name_contains",
            "too_long",
            `has more than ${NAME_CHARS_MAX} characters`,
          );
        }
        const page = await service.listTenants(pageLimit(limit), cursor, nameContains);
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
            rejectsInQuietHours: request.rejectsInQuietHours,
          }),
        ),
      }),
      updateAccount: async ({ tenantId, redactBodies: redactsBodies, rejectsInQuietHours }) => ({
        tenant: tenantToProto(
          await service.updateTenant(tenantId, { redactsBodies, rejectsInQuietHours }),
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
      issueApiKey: (request) => issueApiKey(service, answers, request),
      getApiKey: async ({ tenantId, keyId, mode }) => ({
        key: keyToProto(await service.getApiKey(tenantId, keyId, readMode(mode))),
      }),
      listApiKeys: async ({ tenantId, mode, limit, beforeId }) => {
        if (limit === 0) return { keys: (await service.listApiKeys(tenantId)).map(keyToProto) };
        checkCursor(beforeId === "" || isId("apiKey", beforeId));
        const { keys, hasMore } = await service.pageApiKeys({
          ...{ tenantId, mode: readMode(mode), beforeId },
          limit: pageLimit(limit, PAGE_MAX),
        });
        return { keys: keys.map(keyToProto), hasMore };
      },
      revokeApiKey: async ({ tenantId, keyId, mode }) => ({
        key: keyToProto(await service.revokeApiKey(tenantId, keyId, readMode(mode))),
      }),
      authenticate: async ({ secretSha256 }) =>
        create(AuthenticateResponseSchema, authenticated(await service.authenticate(secretSha256))),
      authenticateMany: async ({ requests }) => {
        checkItems("requests", requests.length, 1, LOOKUPS_MAX);
        const hashes = requests.map(({ secretSha256 }) => secretSha256);
        const results = await service.authenticateMany(hashes);
        return { answers: results.map(authenticated) };
      },
    });
  };
}

async function issueApiKey(
  service: TenantService,
  answers: SealedAnswers,
  request: IssueApiKeyRequest,
) {
  const { tenantId, makerKeyId: makerId, makerScopes } = request;
  const { scopes, allowedNetworks, name, expiresAtMs } = request;
  const mode = checkKnown("mode", readMode(request.mode));
  const key = readRequestKey(request, "issue");
  const answered = await runOnce(answers, key, async () => {
    let response: Uint8Array = new Uint8Array();
    const expiry = expiresAtMs === 0n ? {} : { expiresAtMs: Number(expiresAtMs) };
    const wanted = {
      tenantId,
      makerId,
      makerScopes,
      mode,
      scopes,
      allowedNetworks,
      name,
      ...expiry,
    };
    await service.issueApiKey(wanted, (made, secret) => {
      const answer = create(IssueApiKeyResponseSchema, { key: keyToProto(made), secret });
      response = toBinary(IssueApiKeyResponseSchema, answer);
      return key && answers.seal({ ...key, response });
    });
    return { response, isStored: true };
  });
  const { response, replayed } = answered;
  return Object.assign(fromBinary(IssueApiKeyResponseSchema, response), { replayed });
}

const KEY_ENDS: Readonly<Record<KeyEnd, KeyEndProto>> = {
  revoked: KeyEndProto.REVOKED,
  expired: KeyEndProto.EXPIRED,
};

function authenticated(
  found: Authenticated | KeyEnd | undefined,
): MessageInitShape<typeof AuthenticateResponseSchema> {
  if (found === undefined) return {};
  if (typeof found === "string") return { ended: KEY_ENDS[found] };
  return { key: keyToProto(found.key), tenant: tenantToProto(found.tenant) };
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
    name: key.name,
    hint: key.hint,
    expiresAtMs: BigInt(key.expiresAtMs ?? 0),
    lastUsedAtMs: BigInt(key.lastUsedAtMs ?? 0),
  };
}
