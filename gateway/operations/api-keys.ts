/** API keys: create, list, read, revoke. A key sees and makes keys of its own mode only. */
import type { Client } from "@connectrpc/connect";
import type { ApiKey, TenantService } from "../../proto/gen/sms/v1/tenant_pb.js";
import type { Clock } from "../../services/shared/core/clock.ts";
import { AppError } from "../../services/shared/core/errors.ts";
import { isId } from "../../services/shared/core/ids.ts";
import { PAGE_DEFAULT } from "../../services/shared/core/limits.ts";
import { parseBound } from "../../services/shared/core/rfc3339.ts";
import { rpcAnswer } from "../../services/shared/rpc/call.ts";
import type { Caller } from "../auth/caller.ts";
import { API_KEY_EXAMPLE, NEW_API_KEY_EXAMPLE } from "../docs/content/account-samples.ts";
import { dataOf, type OperationDoc, pageOf } from "../docs/operation-doc.ts";
import type { Cursors } from "../lists/cursor.ts";
import { readPageCursor } from "../lists/page-cursor.ts";
import { renderApiKey } from "../render/api-key.ts";
import { API_KEY_ID, API_KEY_LIST, NEW_API_KEY } from "../schemas/api-keys.ts";
import { compileQuery, refuseQuery } from "../schemas/query.ts";
import { compileSchema, refuse } from "../schemas/validate.ts";
import { keyedResponse, readKeyedRequest } from "./keyed-request.ts";
import type { Operation, OperationRequest, OperationResponse } from "./operation.ts";

export type ApiKeyPorts = {
  readonly tenants: Client<typeof TenantService>;
  readonly cursors: Cursors;
  readonly clock: Clock;
};

type Handler = (ports: ApiKeyPorts, request: OperationRequest) => Promise<OperationResponse>;

const PATH = "/v1/api-keys";
const SCOPE = "keys:manage";
const validateNew = compileSchema(NEW_API_KEY);
const readList = compileQuery(API_KEY_LIST);

/** Creates the operations (`docs/contract.md#api-keys`). */
export function apiKeyOperations(ports: ApiKeyPorts): Operation[] {
  const operation = (
    method: Operation["method"],
    path: string,
    doc: Omit<OperationDoc, "tag">,
    handler: Handler,
  ): Operation => ({
    ...{ method, path, scope: SCOPE },
    doc: { tag: "API keys", ...doc },
    handle: (request) => handler(ports, request),
  });
  const one = `${PATH}/:api_key_id`;
  return [
    operation("GET", PATH, LIST, list),
    operation("POST", PATH, CREATE, create),
    operation("GET", one, READ, read),
    operation("DELETE", one, REVOKE, revoke),
  ];
}

const KEY_PARAM = { api_key_id: API_KEY_ID } as const;

const LIST: Omit<OperationDoc, "tag"> = {
  id: "listApiKeys",
  summary: "List API keys",
  description: "Newest first, of the key's own mode, revoked and expired ones included.",
  query: API_KEY_LIST,
  response: {
    status: 200,
    description: "One page.",
    schema: pageOf("ApiKey"),
    example: { data: [API_KEY_EXAMPLE], next_cursor: null },
  },
  errors: ["validation_error"],
};

type ListQuery = { readonly limit?: number; readonly cursor?: string };

const list: Handler = async ({ tenants, cursors, clock }, { caller, query: text }) => {
  const { tenantId, mode } = caller;
  const { values, faults } = readList(text);
  const query = values as ListQuery;
  const start = readPageCursor(cursors, {
    list: "api_keys",
    filters: [tenantId, mode],
    cursor: query.cursor,
    isEntry: (id) => isId("apiKey", id),
  });
  refuse([...faults, ...start.faults]);
  const limit = query.limit ?? PAGE_DEFAULT;
  const call = tenants.listApiKeys({ tenantId, mode, limit, beforeId: start.after });
  const { keys, hasMore } = await rpcAnswer(call);
  const nowMs = clock.now();
  const data = keys.map((key) => renderApiKey(key, nowMs));
  const next_cursor = start.next(hasMore ? keys.at(-1)?.id : undefined);
  return { status: 200, body: { data, next_cursor } };
};

const CREATE: Omit<OperationDoc, "tag"> = {
  id: "createApiKey",
  summary: "Create an API key",
  description:
    "Of the mode of the key that makes it, with none but its scopes. The secret is in this answer and is not shown " +
    "again. An account has at most 1,000 keys that are neither revoked nor expired.",
  body: {
    name: "NewApiKey",
    isRequired: true,
    example: { scopes: ["messages:send", "messages:read"], name: "Shop backend" },
  },
  takesIdempotencyKey: true,
  response: {
    status: 201,
    description: "Created.",
    schema: dataOf("ApiKeyWithSecret"),
    example: { data: NEW_API_KEY_EXAMPLE },
    headers: ["Location", "Idempotent-Replayed"],
    leadsTo: { getApiKey: "api_key_id", revokeApiKey: "api_key_id" },
  },
  errors: ["conflict", "idempotency_key_reused", "validation_error"],
};

type NewKey = {
  readonly scopes: readonly string[];
  readonly name?: string | null;
  readonly allowed_networks?: readonly string[];
  readonly expires_at?: string | null;
};

const create: Handler = async ({ tenants, clock }, request) => {
  const { tenantId, mode } = request.caller;
  const { body, keyed } = readKeyedRequest(request, validateNew);
  const wanted = body as NewKey;
  const expiresAtMs = parseBound(wanted.expires_at ?? "");
  const result = await rpcAnswer(
    tenants.issueApiKey({
      ...{ tenantId, mode, ...makerOf(request.caller) },
      scopes: [...wanted.scopes],
      allowedNetworks: (wanted.allowed_networks ?? []).map((text) => text.toWellFormed()),
      name: (wanted.name ?? "").toWellFormed(),
      // 0 means never, so an instant at or before 1970 becomes the first millisecond after it.
      expiresAtMs: BigInt(expiresAtMs === undefined ? 0 : Math.max(1, expiresAtMs)),
      ...keyed,
    }),
  );
  const key = found(result.key);
  const data = renderApiKey(key, clock.now(), result.secret);
  return keyedResponse(201, data, result.replayed, { Location: `${PATH}/${key.id}` });
};

/** The maker of a key as the RPC names it: the calling key's id, or the scopes of the session. */
function makerOf({ session, keyId, scopes }: Caller) {
  if (session === undefined) return { makerKeyId: keyId };
  return { makerScopes: [...scopes] };
}

const READ: Omit<OperationDoc, "tag"> = {
  id: "getApiKey",
  summary: "Read an API key",
  description: "Its secret is not shown.",
  params: KEY_PARAM,
  response: {
    status: 200,
    description: "The key.",
    schema: dataOf("ApiKey"),
    example: { data: API_KEY_EXAMPLE },
  },
  errors: ["not_found", "validation_error"],
};

const read: Handler = async ({ tenants, clock }, request) => {
  const { key } = await rpcAnswer(tenants.getApiKey(targetOf(request)));
  refuseQuery(request.query);
  return { status: 200, body: { data: renderApiKey(found(key), clock.now()) } };
};

const REVOKE: Omit<OperationDoc, "tag"> = {
  id: "revokeApiKey",
  summary: "Revoke an API key",
  description:
    "For ever, everywhere within 5 seconds. It stays in the list. A repeat changes nothing. A key may revoke itself.",
  params: KEY_PARAM,
  response: { status: 204, description: "Revoked." },
  errors: ["not_found", "validation_error"],
};

const revoke: Handler = async ({ tenants }, request) => {
  const target = targetOf(request);
  if (request.query !== "") {
    await rpcAnswer(tenants.getApiKey(target));
    refuseQuery(request.query);
  }
  await rpcAnswer(tenants.revokeApiKey(target));
  return { status: 204 };
};

/** The key of the path; a malformed id is `not_found`, like an unknown one. */
function targetOf({ caller, params }: OperationRequest) {
  const keyId = params.api_key_id ?? "";
  if (!isId("apiKey", keyId)) throw unknownKey();
  return { tenantId: caller.tenantId, mode: caller.mode, keyId };
}

function found(key: ApiKey | undefined): ApiKey {
  if (key === undefined) throw unknownKey();
  return key;
}

function unknownKey(): AppError {
  return new AppError("not_found", "There is no such API key.");
}
