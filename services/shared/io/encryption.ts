import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";

/**
 * Encrypts secrets at rest: AES-256-GCM (NIST SP 800-38D). The key's id is stored with the ciphertext, so keys
 * can be rotated: the first key encrypts, every key decrypts.
 */
export type SecretBox = {
  /** Encrypts a text for one place; `context` is authenticated, so a ciphertext cannot be moved. */
  seal(plain: string, context: string): string;
  /** Decrypts; throws when the ciphertext was altered or moved, or its key is missing. */
  open(sealed: string, context: string): string;
};

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Creates a box from `id:base64key,id:base64key` with keys of 32 bytes. */
export function createSecretBox(keysText: string): SecretBox {
  const keys = new Map<string, Buffer>();
  for (const part of keysText.split(",")) {
    const at = part.indexOf(":");
    const id = part.slice(0, at).trim();
    const key = Buffer.from(part.slice(at + 1), "base64");
    if (at < 1 || key.length !== 32) {
      throw new Error("ENCRYPTION_KEYS must be id:base64 pairs with keys of 32 bytes");
    }
    // The first key of an id would encrypt and the last one decrypt: with a repeated id, old texts could not be
    // read.
    if (keys.has(id)) throw new Error(`ENCRYPTION_KEYS has the id ${id} twice`);
    keys.set(id, key);
  }
  const [firstId] = keys.keys();

  return {
    seal(plain, context) {
      const id = firstId as string;
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv("aes-256-gcm", keys.get(id) as Buffer, nonce);
      cipher.setAAD(Buffer.from(context));
      const text = Buffer.concat([cipher.update(plain, "utf8"), cipher.final()]);
      return `${id}.${Buffer.concat([nonce, cipher.getAuthTag(), text]).toString("base64url")}`;
    },
    open(sealed, context) {
      // The last dot: base64url follows it, while a key's id may contain dots.
      const at = sealed.lastIndexOf(".");
      const key = keys.get(sealed.slice(0, at));
      if (key === undefined) throw new Error("the key that sealed this secret is not configured");
      const bytes = Buffer.from(sealed.slice(at + 1), "base64url");
      const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, NONCE_BYTES));
      decipher.setAAD(Buffer.from(context));
      decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
      return Buffer.concat([
        decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)),
        decipher.final(),
      ]).toString("utf8");
    },
  };
}
