/** Verifies webhooks with WebCrypto, which browsers, Deno, Bun, edge runtimes and Node have. */
import type { WebhookEvent } from "./generated/operations.ts";

/** A webhook as it arrived. */
export type ReceivedWebhook = {
  /** The raw body, before any parsing. */
  readonly body: string | Uint8Array<ArrayBuffer>;
  /** The header `X-Service-Signature`. */
  readonly signature: string | null | undefined;
  /** The endpoint's secret, with `whsec_`. */
  readonly secret: string;
  /** How far the signature's time may be from this clock. 300 s. */
  readonly toleranceS?: number;
  /** This clock, in milliseconds since the epoch. */
  readonly nowMs?: number;
};

/** The webhook is not genuine, or too old: answer 400. */
export class WebhookSignatureError extends Error {
  readonly code: "malformed_signature" | "outside_tolerance" | "no_match" | "malformed_body";

  constructor(code: WebhookSignatureError["code"], message: string) {
    super(message);
    this.name = "WebhookSignatureError";
    this.code = code;
  }
}

const TOLERANCE_S = 300;

/**
 * Returns the event of a genuine webhook; throws `WebhookSignatureError` for any other. Types of events may be added:
 * ignore those that you do not know. Delivery is at least once: keep the `id` of each event for 72 hours.
 */
export async function verifyWebhook(webhook: ReceivedWebhook): Promise<WebhookEvent> {
  const { signature, secret, toleranceS = TOLERANCE_S, nowMs = Date.now() } = webhook;
  const encoder = new TextEncoder();
  const body = typeof webhook.body === "string" ? encoder.encode(webhook.body) : webhook.body;
  const { t, candidates } = parseSignature(signature ?? "");
  if (Math.abs(nowMs / 1000 - Number(t)) > toleranceS) {
    throw new WebhookSignatureError("outside_tolerance", `the signature's time is ${t}`);
  }
  if (secret === "") throw new TypeError("secret is empty");
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const raw = encoder.encode(secret);
  const key = await crypto.subtle.importKey("raw", raw, algorithm, false, ["sign"]);
  const signed = concat(encoder.encode(`${t}.`), body);
  const wanted = hexOf(new Uint8Array(await crypto.subtle.sign("HMAC", key, signed)));
  // Every candidate is compared, each in constant time.
  const matches = candidates.filter((candidate) => isEqual(candidate, wanted));
  if (matches.length === 0) {
    throw new WebhookSignatureError("no_match", "no signature of this secret signs this body");
  }
  try {
    return JSON.parse(new TextDecoder().decode(body)) as WebhookEvent;
  } catch {
    throw new WebhookSignatureError("malformed_body", "the signed body is not JSON");
  }
}

/** `t=<unix seconds>,v1=<hex>`: after a rotation there are several v1; other keys are ignored. */
function parseSignature(header: string) {
  const parts = header.split(",").flatMap((part) => {
    const at = part.indexOf("=");
    return at < 0 ? [] : [[part.slice(0, at), part.slice(at + 1)] as const];
  });
  const t = parts.find(([name]) => name === "t")?.[1] ?? "";
  const candidates = parts.flatMap(([name, hex]) => (name === "v1" ? [hex] : []));
  if (!/^\d{1,12}$/.test(t) || candidates.length === 0) {
    throw new WebhookSignatureError("malformed_signature", "the signature has no t or no v1");
  }
  return { t, candidates };
}

function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Takes the same time wherever the texts differ. The length of a signature is no secret. */
function isEqual(a: string, b: string): boolean {
  if (a.length !== b.length) return false;
  let difference = 0;
  for (let at = 0; at < a.length; at += 1) difference |= a.charCodeAt(at) ^ b.charCodeAt(at);
  return difference === 0;
}

function concat(
  first: Uint8Array<ArrayBuffer>,
  second: Uint8Array<ArrayBuffer>,
): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(first.length + second.length);
  whole.set(first);
  whole.set(second, first.length);
  return whole;
}
