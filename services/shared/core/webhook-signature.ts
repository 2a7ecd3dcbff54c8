/**
 * The signature of webhook requests, for both sides (`docs/contract.md#webhook-signature`): `t=<unix
 * seconds>,v1=<hex>`. The hex is HMAC-SHA256 with the whole signing secret (including its `whsec_` prefix) over
 * `<t>.<raw body>`; one `v1` per active secret, newest first.
 */
import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from "node:crypto";

/** How far `t` may be from the receiver's clock, in seconds. */
export const SIGNATURE_TOLERANCE_S = 300;

/** The reason why a signature is refused. */
export type SignatureFault = "missing" | "malformed" | "too_old" | "too_new" | "mismatch";

/** Imports a signing secret as a key. Keep the key: importing it for each signature costs time. */
export function signingKey(secret: string): KeyObject {
  return createSecretKey(secret, "utf8");
}

/** The header's value for one attempt, signed with each key in the order given; text counts as UTF-8. */
export function signWebhook(
  keys: readonly KeyObject[],
  timestampS: number,
  rawBody: Uint8Array | string,
): string {
  let header = `t=${timestampS}`;
  for (const key of keys) header += `,v1=${digest(key, String(timestampS), rawBody)}`;
  return header;
}

/**
 * The receiver's check. Returns undefined when one of the secrets signed these raw bytes at a time within the
 * tolerance, otherwise the reason. Ignores unknown keys in the header, tries every `v1`, and compares in
 * constant time.
 */
export function findSignatureFault(check: {
  readonly header: string | undefined;
  readonly rawBody: Uint8Array;
  readonly secrets: readonly string[];
  readonly nowMs: number;
  readonly toleranceS?: number;
}): SignatureFault | undefined {
  const { header, rawBody, secrets, nowMs, toleranceS = SIGNATURE_TOLERANCE_S } = check;
  if (header === undefined || header === "") return "missing";
  const { t, signatures } = readHeader(header);
  if (t === undefined || signatures.length === 0) return "malformed";
  const ageS = nowMs / 1000 - Number(t);
  if (ageS > toleranceS) return "too_old";
  if (ageS < -toleranceS) return "too_new";
  const isGood = secrets.some((secret) => {
    const wanted = Buffer.from(digest(signingKey(secret), t, rawBody), "latin1");
    return signatures.some((signature) => {
      const given = Buffer.from(signature, "utf8");
      return given.length === wanted.length && timingSafeEqual(given, wanted);
    });
  });
  return isGood ? undefined : "mismatch";
}

function readHeader(header: string): { t: string | undefined; signatures: string[] } {
  let t: string | undefined;
  const signatures: string[] = [];
  for (const part of header.split(",")) {
    const at = part.indexOf("=");
    if (at < 0) continue;
    const name = part.slice(0, at);
    const value = part.slice(at + 1);
    if (name === "t") t ??= value;
    else if (name === "v1") signatures.push(value);
  }
  return { t: t !== undefined && /^\d{1,12}$/.test(t) ? t : undefined, signatures };
}

function digest(key: KeyObject, t: string, rawBody: Uint8Array | string): string {
  if (typeof rawBody === "string") {
    return createHmac("sha256", key).update(`${t}.${rawBody}`, "utf8").digest("hex");
  }
  return createHmac("sha256", key).update(`${t}.`).update(rawBody).digest("hex");
}
