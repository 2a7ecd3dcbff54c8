import { createHmac, createSecretKey, timingSafeEqual } from "node:crypto";

/** Makes and reads cursors: positions in a list that only this service can have written. */
export type Cursors = {
  /** A cursor for a position, good only with the same `binding` (caller, list and filters). */
  issue(binding: string, position: string): string;
  /** The position, or `undefined` when the cursor was not issued for this binding. */
  read(binding: string, cursor: string): string | undefined;
};

/** Bytes kept of each signature: 128 bits, the least that NIST SP 800-107 advises for a MAC. */
const SIGNATURE_BYTES = 16;

const BASE64URL = /^[A-Za-z0-9_-]+$/;

/**
 * Cursors signed with HMAC-SHA256. They are opaque but not secret: a position is an id and two
 * instants that its reader has seen. What a cursor is bound to is signed and not carried.
 */
export function createCursors(keyText: string): Cursors {
  const key = createSecretKey(keyText, "utf8");

  function sign(binding: string, position: string): Buffer {
    // Bindings are JSON texts, which hold no line break, so the two parts cannot be confused.
    return createHmac("sha256", key)
      .update(`${binding}\n${position}`)
      .digest()
      .subarray(0, SIGNATURE_BYTES);
  }

  return {
    issue: (binding, position) =>
      Buffer.concat([sign(binding, position), Buffer.from(position, "utf8")]).toString("base64url"),
    read(binding, cursor) {
      if (!BASE64URL.test(cursor)) return undefined;
      const bytes = Buffer.from(cursor, "base64url");
      // One cursor, one spelling: trailing bits that mean nothing are refused.
      if (bytes.length <= SIGNATURE_BYTES || bytes.toString("base64url") !== cursor)
        return undefined;
      const position = bytes.subarray(SIGNATURE_BYTES).toString("utf8");
      const isOurs = timingSafeEqual(bytes.subarray(0, SIGNATURE_BYTES), sign(binding, position));
      return isOurs ? position : undefined;
    },
  };
}
