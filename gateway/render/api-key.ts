import type { ApiKey } from "../../proto/gen/sms/v1/tenant_pb.js";
import { formatInstant } from "../../services/shared/core/rfc3339.ts";
import { instantOrNull, modeName, textOrNull } from "./message.ts";

/** Renders an API key; with `secret` only after its creation. */
export function renderApiKey(key: ApiKey, nowMs: number, secret?: string) {
  return {
    id: key.id,
    object: "api_key",
    name: textOrNull(key.name),
    mode: modeName(key.mode),
    scopes: key.scopes,
    allowed_networks: key.allowedNetworks,
    hint: textOrNull(key.hint),
    status: statusOf(key, nowMs),
    ...(secret === undefined ? {} : { secret }),
    created_at: formatInstant(Number(key.createdAtMs)),
    last_used_at: instantOrNull(key.lastUsedAtMs),
    expires_at: instantOrNull(key.expiresAtMs),
    revoked_at: instantOrNull(key.revokedAtMs),
  };
}

function statusOf({ revokedAtMs, expiresAtMs }: ApiKey, nowMs: number) {
  if (revokedAtMs !== 0n) return "revoked";
  return expiresAtMs !== 0n && Number(expiresAtMs) <= nowMs ? "expired" : "active";
}
