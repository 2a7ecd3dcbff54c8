import { readPointerText } from "./http-template.ts";
import type { PartOutcome } from "./message.ts";

/** Errors of the connection or of the account: the same message may succeed later. */
const TEMPORARY: ReadonlySet<number> = new Set([401, 402, 403, 407, 408]);

/**
 * Maps an HTTP status (RFC 9110 section 15) to the outcome of a message.
 *
 * - 2xx with the carrier's id: accepted. 2xx without it: in doubt.
 * - 429, 503: throttled. 401, 402, 403, 407, 408: temporary. Other 4xx: refused permanently.
 * - Other 5xx: in doubt, because the carrier may have accepted the message before the error.
 */
export function readHttpResponse(status: number, body: string, idPointer: string): PartOutcome {
  if (status >= 200 && status < 300) {
    const carrierMessageId = readId(body, idPointer);
    if (carrierMessageId !== "") return { kind: "accepted", carrierMessageId };
    return { kind: "unknown", code: "no_id_in_answer" };
  }
  const code = `http_${status}`;
  if (status === 429 || status === 503) return { kind: "refused", code, disposition: "throttled" };
  if (TEMPORARY.has(status)) {
    return { kind: "refused", code, disposition: "temporary" };
  }
  if (status >= 400 && status < 500) return { kind: "refused", code, disposition: "permanent" };
  return { kind: "unknown", code };
}

function readId(body: string, idPointer: string): string {
  try {
    return readPointerText(JSON.parse(body), idPointer);
  } catch {
    // Some carriers answer with the bare id.
    return idPointer === "" ? body.trim().slice(0, 64) : "";
  }
}

/** The outcome of a request without an answer: `not_sent` only when there was no connection. */
export function readHttpFailure(failure: {
  readonly code: string;
  readonly mayHaveLeft: boolean;
}): PartOutcome {
  return { kind: failure.mayHaveLeft ? "unknown" : "not_sent", code: failure.code };
}
