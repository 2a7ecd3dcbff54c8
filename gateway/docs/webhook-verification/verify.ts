import { createHmac, timingSafeEqual } from "node:crypto";

const TOLERANCE_S = 300;

/** True when there is a header that signs these raw bytes with the secret, now. Read the body before parsing it. */
export function isGenuine(
  header: string | undefined,
  rawBody: Uint8Array,
  secret: string,
  nowS = Date.now() / 1000,
): boolean {
  const parts = (header ?? "").split(",").flatMap((part) => {
    const at = part.indexOf("=");
    return at < 0 ? [] : [[part.slice(0, at), part.slice(at + 1)] as const];
  });
  const t = parts.find(([key]) => key === "t")?.[1] ?? "";
  if (!/^\d{1,12}$/.test(t) || Math.abs(nowS - Number(t)) > TOLERANCE_S) return false;
  const wanted = createHmac("sha256", secret).update(`${t}.`).update(rawBody).digest("hex");
  return parts
    .filter(([key]) => key === "v1")
    .some(([, given = ""]) => {
      const [a, b] = [Buffer.from(given), Buffer.from(wanted)];
      return a.length === b.length && timingSafeEqual(a, b);
    });
}
