import { randomBytes } from "node:crypto";

/** A secret of 32 random bytes in base64url, after a prefix that says what it is. */
export function newSecretText(prefix: string): string {
  return `${prefix}_${randomBytes(32).toString("base64url")}`;
}
