import { createHmac, createSecretKey, timingSafeEqual } from "node:crypto";

/** Issues and reads signed cursors, which only this service can write. */
export type Cursors = {
  /** A cursor for a payload, valid only with the same `binding` (caller, list and filters). */
  issue(binding: string, payload: string): string;
  /** The payload, or `undefined` when the cursor was not issued for this binding. */
  read(binding: string, cursor: string): string | undefined;
};

/** Length of a signature: 128 bits, half the hash output, the shortest that RFC 2104 section 5 recommends. */
const SIGNATURE_BYTES = 16;

const BASE64URL = /^[A-Za-z0-9_-]+$/;

/**
 * Cursors signed with HMAC-SHA256. They are opaque but not secret: the payload is an id and two times that the
 * client knows. The binding is signed but not part of the cursor.
 */
export function createCursors(keyText: string): Cursors {
  const key = createSecretKey(keyText, "utf8");

  function sign(binding: string, payload: string): Buffer {
    // A binding is JSON text without a line break, so the two parts cannot be confused.
    return createHmac("sha256", key)
      .update(`${binding}\n${payload}`)
      .digest()
      .subarray(0, SIGNATURE_BYTES);
  }

  return {
    issue: (binding, payload) =>
      Buffer.concat([sign(binding, payload), Buffer.from(payload, "utf8")]).toString("base64url"),
    read(binding, cursor) {
      if (!BASE64URL.test(cursor)) return undefined;
      const bytes = Buffer.from(cursor, "base64url");
      // Each cursor has one spelling: refuse meaningless trailing bits.
      if (bytes.length <= SIGNATURE_BYTES || bytes.toString("base64url") !== cursor)
        return undefined;
      const payload = bytes.subarray(SIGNATURE_BYTES).toString("utf8");
      const isOurs = timingSafeEqual(bytes.subarray(0, SIGNATURE_BYTES), sign(binding, payload));
      return isOurs ? payload : undefined;
    },
  };
}
