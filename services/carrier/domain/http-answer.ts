import { readPointerText } from "./http-template.ts";
import type { PartOutcome } from "./message.ts";

/**
 * What an HTTP answer says of a message (RFC 9110 section 15). A 2xx with the carrier's id is
 * taken; 429 and 503 say "slow down"; other 4xx are refusals of this message. A 5xx other than 503
 * may have come after the carrier took the message, so it proves nothing.
 */
export function readHttpAnswer(status: number, body: string, idPointer: string): PartOutcome {
  if (status >= 200 && status < 300) {
    const carrierMessageId = readId(body, idPointer);
    if (carrierMessageId !== "") return { kind: "accepted", carrierMessageId };
    return { kind: "unknown", code: "no_id_in_answer" };
  }
  const code = `http_${status}`;
  if (status === 429 || status === 503) return { kind: "refused", code, disposition: "throttled" };
  if (status === 401 || status === 403 || status === 407) {
    return { kind: "refused", code, disposition: "temporary" };
  }
  if (status >= 400 && status < 500) return { kind: "refused", code, disposition: "permanent" };
  return { kind: "unknown", code };
}

function readId(body: string, idPointer: string): string {
  try {
    return readPointerText(JSON.parse(body), idPointer);
  } catch {
    // Some carriers answer with nothing but the id.
    return idPointer === "" ? body.trim().slice(0, 64) : "";
  }
}

/** Failures of a request before any octet of it left, by the codes of Node and of undici. */
const BEFORE_WRITING: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
  "CERT_HAS_EXPIRED",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "ERR_TLS_CERT_ALTNAME_INVALID",
]);

/** What a request that failed without an answer means. */
export function readHttpFailure(error: unknown): PartOutcome {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  const code =
    cause instanceof Error && "code" in cause && typeof cause.code === "string"
      ? cause.code
      : "no_answer";
  return BEFORE_WRITING.has(code) ? { kind: "not_sent", code } : { kind: "unknown", code };
}
