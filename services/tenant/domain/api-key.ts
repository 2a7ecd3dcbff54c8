import { createHash, randomBytes } from "node:crypto";
import { AppError, type FieldError } from "../../shared/core/errors.ts";
import { isNetwork } from "../../shared/core/networks.ts";

/** Permissions of a key (docs/contract.md#authentication). */
export const SCOPES = [
  "messages:send",
  "messages:read",
  "balance:read",
  "sender_ids:read",
  "webhooks:manage",
  "campaigns:read",
  "campaigns:manage",
  "inbound:read",
  "suppressions:manage",
] as const;

const NETWORKS_MAX = 100;

/** One of the scopes. */
export type Scope = (typeof SCOPES)[number];

/** Whether messages sent with a key are real or simulated (docs/contract.md#test-mode). */
export type KeyMode = "live" | "test";

/** An API key as it is stored, without its secret. */
export type ApiKey = {
  readonly id: string;
  readonly tenantId: string;
  readonly mode: KeyMode;
  readonly scopes: readonly Scope[];
  /** IPv4 and IPv6 CIDRs; empty allows every address. */
  readonly allowedNetworks: readonly string[];
  readonly createdAtMs: number;
  /** Absent while the key is active. */
  readonly revokedAtMs?: number;
};

/** A new secret: `sk_live_` or `sk_test_`, then 32 random bytes in base64url. */
export function newSecret(mode: KeyMode): string {
  return `sk_${mode}_${randomBytes(32).toString("base64url")}`;
}

/** SHA-256 of the whole secret, the only stored form of it. 256 random bits need no salt. */
export function hashSecret(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}

/** Creates a key; throws `validation_error` that names every invalid field. */
export function createApiKey(input: {
  readonly id: string;
  readonly tenantId: string;
  readonly mode: KeyMode;
  readonly scopes: readonly string[];
  readonly allowedNetworks: readonly string[];
  readonly nowMs: number;
}): ApiKey {
  const fields: FieldError[] = [];
  const wanted = input.scopes.length === 0 ? SCOPES : input.scopes;
  const scopes = SCOPES.filter((scope) => wanted.includes(scope));
  if (wanted.length > SCOPES.length) {
    fields.push({ field: "scopes", code: "too_many", message: "Each scope is named once." });
  }
  for (const scope of wanted.slice(0, SCOPES.length)) {
    if (!SCOPES.some((known) => known === scope)) {
      fields.push({ field: "scopes", code: "invalid_value", message: `No scope is ${scope}.` });
    }
  }
  if (input.allowedNetworks.length > NETWORKS_MAX) {
    fields.push({
      field: "allowed_networks",
      code: "too_many",
      message: `A key has at most ${NETWORKS_MAX} networks.`,
    });
  }
  for (const network of input.allowedNetworks.slice(0, NETWORKS_MAX)) {
    if (!isNetwork(network)) {
      fields.push({
        field: "allowed_networks",
        code: "invalid_format",
        message: `${network} is not an IPv4 or IPv6 address or CIDR.`,
      });
    }
  }
  if (fields.length > 0)
    throw new AppError("validation_error", "The key is not valid.", { fields });
  return {
    id: input.id,
    tenantId: input.tenantId,
    mode: input.mode,
    scopes,
    allowedNetworks: [...input.allowedNetworks],
    createdAtMs: input.nowMs,
  };
}
