import { randomBytes } from "node:crypto";
import { hashSecret } from "./api-key.ts";
import { stepOfCode, toBase32 } from "./totp.ts";

/** A person's second factor. Sign-ins need it once `enabledAtMs` is set; before that, only the secret was shown. */
export type SecondFactor = {
  readonly personId: string;
  readonly secret: Uint8Array;
  readonly enabledAtMs?: number;
  /** The TOTP step of the last used code; 0 before the first. */
  readonly lastStep: number;
  /** SHA-256 of each recovery code that was not used. */
  readonly recoveryHashes: readonly Buffer[];
};

/** The part of a factor that a right code uses up: its step, or the recovery code. */
export type UsedCode = { readonly step: number } | { readonly recoveryHash: Buffer };

/** Length of a secret: RFC 4226 section 4 recommends 160 bits. */
const SECRET_BYTES = 20;
const RECOVERY_CODES = 10;
/** Random bytes of a recovery code: 80 bits cannot be guessed, even by a thief of the hashes. */
const RECOVERY_BYTES = 10;

export function newFactorSecret(): Uint8Array {
  return randomBytes(SECRET_BYTES);
}

/** Ten random recovery codes such as `ABCD-EFGH-IJKL-MNOP`. */
export function newRecoveryCodes(): readonly string[] {
  return Array.from({ length: RECOVERY_CODES }, () =>
    (toBase32(randomBytes(RECOVERY_BYTES)).match(/.{4}/g) ?? []).join("-"),
  );
}

/** The hash of a recovery code, without regard to case and separators. */
export function recoveryHash(code: string): Buffer {
  return hashSecret(code.toUpperCase().replace(/[^A-Z2-7]/g, ""));
}

/** The part that a code uses up; undefined for a code that is wrong or was used. */
export function readCode(factor: SecondFactor, text: string, nowMs: number): UsedCode | undefined {
  const digits = text.replace(/\s/g, "");
  if (/^\d+$/.test(digits)) {
    const { secret, lastStep } = factor;
    const step = stepOfCode(secret, digits, { nowMs, lastStep });
    return step === undefined ? undefined : { step };
  }
  const hash = recoveryHash(text);
  const isKnown = factor.recoveryHashes.some((one) => one.equals(hash));
  return isKnown ? { recoveryHash: hash } : undefined;
}
