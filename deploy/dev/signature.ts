import { createHmac, timingSafeEqual } from "node:crypto";

/** How far a signature's time may be from the receiver's clock, in seconds. */
const TOLERANCE_S = 300;

/**
 * True when the X-Service-Signature header (`t=<unix seconds>,v1=<hex>`, several v1 allowed) signs
 * this raw body with one of the secrets, now. Written only from the public
 * documentation, so that it detects a signer that departs from it.
 */
export function isSigned(
  header: string | undefined,
  rawBody: Buffer,
  secrets: readonly string[],
  nowMs: number,
): boolean {
  const parts = (header ?? "").split(",").map((part) => part.trim());
  const t = parts.find((part) => part.startsWith("t="))?.slice(2) ?? "";
  if (!/^\d{1,12}$/.test(t) || Math.abs(nowMs / 1000 - Number(t)) > TOLERANCE_S) return false;
  const given = parts.filter((part) => part.startsWith("v1=")).map((part) => part.slice(3));
  return secrets.some((secret) => {
    const right = createHmac("sha256", secret).update(`${t}.`).update(rawBody).digest("hex");
    return given.some((hex) => hex.length === right.length && isEqual(hex, right));
  });
}

function isEqual(a: string, b: string): boolean {
  return timingSafeEqual(Buffer.from(a, "latin1"), Buffer.from(b, "latin1"));
}
