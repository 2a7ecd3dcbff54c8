import { readPointerText } from "./http-template.ts";
import type { PartOutcome } from "./message.ts";

/** Faults of the request's way or of the account, which end without a change to the message. */
const TEMPORARY: ReadonlySet<number> = new Set([401, 402, 403, 407, 408]);

/**
 * What an HTTP answer says of a message (RFC 9110 section 15). A 2xx with the carrier's id is
 * taken; 429 and 503 say "slow down"; 408 says that the request did not come whole, so it may come
 * again; other 4xx are refusals of this message. A 5xx other than 503
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
    // Some carriers answer with nothing but the id.
    return idPointer === "" ? body.trim().slice(0, 64) : "";
  }
}

/** What a request without an answer means: certain only when there was no connection to take it. */
export function readHttpFailure(failure: {
  readonly code: string;
  readonly mayHaveLeft: boolean;
}): PartOutcome {
  return { kind: failure.mayHaveLeft ? "unknown" : "not_sent", code: failure.code };
}
