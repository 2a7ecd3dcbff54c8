import { randomBytes } from "node:crypto";
import { readJson, writeJson } from "./json-file.ts";

/** Secrets of one stack, made at its first start and kept for its life. */
export type StackSecrets = {
  readonly rpcToken: string;
  /** `id:base64` AES-256 keys; the first encrypts. */
  readonly encryptionKeys: string;
  readonly cursorKey: string;
  readonly smscPassword: string;
};

/** The stack's secrets; makes and keeps them when there are none yet. */
export function stackSecrets(file: string): StackSecrets {
  const kept = readJson<StackSecrets>(file);
  if (kept !== undefined) return kept;
  const made: StackSecrets = {
    rpcToken: randomBytes(32).toString("base64url"),
    encryptionKeys: `dev1:${randomBytes(32).toString("base64")}`,
    cursorKey: randomBytes(32).toString("base64"),
    // SMPP 3.4 section 5.2.2: a password has at most 8 characters.
    smscPassword: randomBytes(4).toString("hex"),
  };
  writeJson(file, made);
  return made;
}
