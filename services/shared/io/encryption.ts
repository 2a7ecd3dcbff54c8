import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";

/**
 * Secrets at rest: AES-256-GCM (NIST SP 800-38D) with the key's id stored beside the text, so
 * keys can be rotated: the first key seals, every key opens.
 */
export type SecretBox = {
  /** Seals a text for one place (`context` is authenticated: a sealed text cannot be moved). */
  seal(plain: string, context: string): string;
  /** Opens a sealed text; throws when it was altered, moved, or its key is gone. */
  open(sealed: string, context: string): string;
};

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Makes a box from `id:base64key,id:base64key` with keys of 32 bytes. */
export function createSecretBox(keysText: string): SecretBox {
  const keys = new Map<string, Buffer>();
  for (const part of keysText.split(",")) {
    const at = part.indexOf(":");
    const id = part.slice(0, at).trim();
    const key = Buffer.from(part.slice(at + 1), "base64");
    if (at < 1 || key.length !== 32) {
      throw new Error("ENCRYPTION_KEYS must be id:base64 pairs with keys of 32 bytes");
    }
    // The first key seals and the last of one id would open: with one id for two, nothing old could be read.
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
      // The last one: what follows it is base64url, while a key's id may have dots.
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
