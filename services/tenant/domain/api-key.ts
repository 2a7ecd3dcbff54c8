import { createHash } from "node:crypto";
import { AppError, type FieldError } from "../../shared/core/errors.ts";
import { isNetwork } from "../../shared/core/networks.ts";
import { SCOPES, type Scope } from "../../shared/core/scopes.ts";
import { newSecretText } from "./secrets.ts";

const NETWORKS_MAX = 100;
const NAME_CHARS_MAX = 100;
/** Last characters of a secret that its key shows: 24 of 256 random bits. */
const HINT_CHARS = 4;
/** A key expires a minute from now at the earliest, and ten years from now at the latest. */
const LIFETIME_MIN_MS = 60_000;
const LIFETIME_MAX_MS = 10 * 366 * 86_400_000;

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
  /** A note for people. */
  readonly name: string;
  /** The last characters of the secret, by which people recognise the key; empty for keys of version 0.2.0. */
  readonly hint: string;
  readonly createdAtMs: number;
  /** Absent until the key is revoked. */
  readonly revokedAtMs?: number;
  /** Absent for a key that is valid until it is revoked. */
  readonly expiresAtMs?: number;
  /** When the key was last used, exact to about a minute (`app/last-used.ts`); absent while unused. */
  readonly lastUsedAtMs?: number;
};

/** The wanted properties of a new key. */
export type NewApiKey = {
  readonly id: string;
  readonly tenantId: string;
  readonly mode: KeyMode;
  readonly scopes: readonly string[];
  readonly allowedNetworks: readonly string[];
  readonly name?: string;
  readonly expiresAtMs?: number;
  readonly nowMs: number;
};

/** The key or session that makes a new key, and whose mode and scopes limit it. */
export type KeyMaker = { readonly mode: KeyMode; readonly scopes: readonly string[] };

/** The reason why a key is no longer valid. */
export type KeyEnd = "revoked" | "expired";

/** The reason why a key is no longer valid; undefined for a valid one. */
export function endOf(key: ApiKey, nowMs: number): KeyEnd | undefined {
  if (isGood(key, nowMs)) return undefined;
  return key.revokedAtMs === undefined ? "expired" : "revoked";
}

/** Whether a key can be used. */
export function isGood({ revokedAtMs, expiresAtMs }: ApiKey, nowMs: number): boolean {
  return revokedAtMs === undefined && (expiresAtMs === undefined || expiresAtMs > nowMs);
}

/** The part of a secret that is shown after its creation. */
export function hintOf(secret: string): string {
  return secret.slice(-HINT_CHARS);
}

/** A new secret: `sk_live_` or `sk_test_`, then 32 random bytes in base64url. */
export function newSecret(mode: KeyMode): string {
  return newSecretText(`sk_${mode}`);
}

/** SHA-256 of the whole secret, the only stored form of it. 256 random bits need no salt. */
export function hashSecret(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}

/** Creates a key; throws `validation_error` that names every invalid field. No scopes mean all of them. */
export function createApiKey(input: NewApiKey, hint = ""): ApiKey {
  const wanted = input.scopes.length === 0 ? SCOPES : input.scopes;
  return keyOf({ ...input, scopes: wanted }, hint, []);
}

/**
 * Creates a key for another one, its maker, in the maker's mode. A scope that the maker lacks is a fault, so no key
 * ever makes a more powerful one.
 */
export function createApiKeyFor(maker: KeyMaker, input: NewApiKey, hint: string): ApiKey {
  const fields: FieldError[] = [];
  if (input.mode !== maker.mode) {
    const message = `A ${maker.mode} key makes keys of its own mode.`;
    fields.push({ field: "mode", code: "invalid_value", message });
  }
  if (input.scopes.length === 0) {
    fields.push({ field: "scopes", code: "too_few", message: "A key has at least one scope." });
  }
  const held: readonly string[] = maker.scopes;
  for (const scope of input.scopes.slice(0, SCOPES.length)) {
    if (held.includes(scope) || !SCOPES.some((known) => known === scope)) continue;
    const message = `Its maker lacks the scope ${scope}.`;
    fields.push({ field: "scopes", code: "invalid_value", message });
  }
  return keyOf(input, hint, fields);
}

function keyOf(input: NewApiKey, hint: string, known: readonly FieldError[]): ApiKey {
  const { id, tenantId, mode, allowedNetworks, name = "", expiresAtMs, nowMs } = input;
  const fields = [
    ...known,
    ...scopeFaults(input.scopes),
    ...networkFaults(allowedNetworks),
    ...nameFaults(name),
    ...expiryFaults(expiresAtMs, nowMs),
  ];
  if (fields.length > 0) {
    throw new AppError("validation_error", "The key is not valid.", { fields });
  }
  return {
    ...{ id, tenantId, mode, name, hint },
    scopes: SCOPES.filter((scope) => input.scopes.includes(scope)),
    allowedNetworks: [...allowedNetworks],
    createdAtMs: nowMs,
    ...(expiresAtMs === undefined ? {} : { expiresAtMs }),
  };
}

function scopeFaults(wanted: readonly string[]): FieldError[] {
  const fields: FieldError[] = [];
  if (wanted.length > SCOPES.length) {
    fields.push({ field: "scopes", code: "too_many", message: "Each scope is named once." });
  }
  for (const scope of wanted.slice(0, SCOPES.length)) {
    if (SCOPES.some((known) => known === scope)) continue;
    fields.push({ field: "scopes", code: "invalid_value", message: `No scope is ${scope}.` });
  }
  return fields;
}

function networkFaults(networks: readonly string[]): FieldError[] {
  const field = "allowed_networks";
  const fields: FieldError[] = [];
  if (networks.length > NETWORKS_MAX) {
    const message = `A key has at most ${NETWORKS_MAX} networks.`;
    fields.push({ field, code: "too_many", message });
  }
  for (const network of networks.slice(0, NETWORKS_MAX)) {
    if (isNetwork(network)) continue;
    const message = `${network} is not an IPv4 or IPv6 address or CIDR.`;
    fields.push({ field, code: "invalid_format", message });
  }
  return fields;
}

function nameFaults(name: string): FieldError[] {
  if (name.length <= NAME_CHARS_MAX) return [];
  const message = `A name has at most ${NAME_CHARS_MAX} characters.`;
  return [{ field: "name", code: "too_long", message }];
}

function expiryFaults(expiresAtMs: number | undefined, nowMs: number): FieldError[] {
  if (expiresAtMs === undefined) return [];
  const leftMs = expiresAtMs - nowMs;
  if (leftMs >= LIFETIME_MIN_MS && leftMs <= LIFETIME_MAX_MS) return [];
  const message = "A key expires between one minute and ten years from now.";
  return [{ field: "expires_at", code: "out_of_range", message }];
}
