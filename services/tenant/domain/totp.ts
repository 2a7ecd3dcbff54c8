import { createHmac, timingSafeEqual } from "node:crypto";

/** Time-based one-time codes as authenticators make them: RFC 6238 with SHA-1, six digits and steps of 30 s. */

const STEP_MS = 30_000;
const DIGITS = 6;
/** Steps before and after the present one whose code is taken (RFC 6238 section 5.2): clocks of phones differ. */
const SKEW_STEPS = 1;
/** The Base32 alphabet (RFC 4648 section 6). */
const BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** Base32 without padding, the form in which authenticators take a secret. */
export function toBase32(bytes: Uint8Array): string {
  let bits = "";
  for (const byte of bytes) bits += byte.toString(2).padStart(8, "0");
  const groups = bits.match(/.{1,5}/g) ?? [];
  return groups.map((group) => BASE32[Number.parseInt(group.padEnd(5, "0"), 2)]).join("");
}

/** The step of an instant. */
export function stepAt(nowMs: number): number {
  return Math.floor(nowMs / STEP_MS);
}

/** The code of a step (RFC 4226 section 5.3). */
export function codeOf(secret: Uint8Array, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const digest = createHmac("sha1", secret).update(counter).digest();
  const offset = digest.readUInt8(digest.length - 1) & 15;
  const number = digest.readUInt32BE(offset) & 0x7fffffff;
  return String(number % 10 ** DIGITS).padStart(DIGITS, "0");
}

/**
 * The step after `lastStep` that has this code; undefined for a wrong code and for the code of a used step. So an
 * intercepted code does not work again (RFC 6238 section 5.2).
 */
export function stepOfCode(
  secret: Uint8Array,
  code: string,
  { nowMs, lastStep }: { readonly nowMs: number; readonly lastStep: number },
): number | undefined {
  const given = Buffer.from(code);
  const now = stepAt(nowMs);
  let found: number | undefined;
  for (let step = now - SKEW_STEPS; step <= now + SKEW_STEPS; step += 1) {
    const right = Buffer.from(codeOf(secret, step));
    const isSame = given.length === right.length && timingSafeEqual(given, right);
    if (isSame && step > lastStep) found = step;
  }
  return found;
}

/** The address for the QR code of an authenticator, which shows `issuer` and `account`. */
export function otpauthUri(secret: Uint8Array, issuer: string, account: string): string {
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(account)}`;
  return `otpauth://totp/${label}?secret=${toBase32(secret)}&issuer=${encodeURIComponent(issuer)}`;
}
