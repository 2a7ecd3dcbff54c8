import { readPointerText } from "./http-template.ts";
import type { PartOutcome } from "./message.ts";
import { refusedWith } from "./submit-error-codes.ts";
import { type ThrottleScopes, throttled } from "./throttling.ts";

/** An answer of the carrier. */
export type HttpAnswer = {
  readonly status: number;
  readonly body: string;
  /** The header `retry-after`, when there is one. */
  readonly retryAfter?: string | undefined;
};

/** The settings of a connector by which answers are read. */
export type HttpAnswerRules = {
  /** JSON pointer to the carrier's message id. */
  readonly idPointer: string;
  readonly scopes: ThrottleScopes;
  /** JSON pointer to an error code; empty for none. */
  readonly errorPointer: string;
  /** HTTP statuses and texts at `errorPointer`, to our error codes. */
  readonly submitErrorCodes: Readonly<Record<string, string>>;
};

/** A longer wait could keep a message that other routes could carry. */
const RETRY_AFTER_MAX_MS = 60_000;

/** Errors of the connection or of the account: the same message may succeed later. */
const TEMPORARY: ReadonlySet<number> = new Set([401, 402, 403, 407, 408]);

/**
 * Maps an HTTP status (RFC 9110 section 15) to the outcome of a message.
 *
 * - A code or 4xx that the connector's `submit_error_codes` name: refused permanently, with that code.
 * - 2xx with the carrier's id: accepted. 2xx without it: in doubt.
 * - 429, 503 and the connector's own statuses: throttled. 401, 402, 403, 407, 408: temporary. Other 4xx: refused
 *   permanently.
 * - Other 5xx: in doubt, because the carrier may have accepted the message before the error.
 */
export function readHttpResponse(
  answer: HttpAnswer,
  { idPointer, scopes, errorPointer, submitErrorCodes }: HttpAnswerRules,
  nowMs: number,
): PartOutcome {
  const { status, body, retryAfter } = answer;
  const named = [readError(body, errorPointer), status >= 400 && status < 500 ? `${status}` : ""];
  for (const theirs of named) {
    const errorCode = Object.hasOwn(submitErrorCodes, theirs)
      ? submitErrorCodes[theirs]
      : undefined;
    if (errorCode !== undefined) return refusedWith(`http_${theirs}`, errorCode);
  }
  if (status >= 200 && status < 300) {
    const carrierMessageId = readId(body, idPointer);
    if (carrierMessageId !== "") return { kind: "accepted", carrierMessageId };
    return { kind: "unknown", code: "no_id_in_answer" };
  }
  const code = `http_${status}`;
  const scope = scopes.get(status);
  if (scope !== undefined) return throttled(code, scope, readRetryAfter(retryAfter, nowMs));
  if (TEMPORARY.has(status)) {
    return { kind: "refused", code, disposition: "temporary" };
  }
  if (status >= 400 && status < 500) return { kind: "refused", code, disposition: "permanent" };
  return { kind: "unknown", code };
}

/** The milliseconds of a `retry-after`: seconds or a date (RFC 9110 section 10.2.3); 0 when it is neither. */
export function readRetryAfter(header: string | undefined, nowMs: number): number {
  const isDate = header !== undefined && /^[A-Z][a-z]+, /.test(header);
  const waitMs = isDate ? Date.parse(header) - nowMs : Number(header ?? 0) * 1000;
  return Math.min(RETRY_AFTER_MAX_MS, Math.max(0, waitMs || 0));
}

function readError(body: string, pointer: string): string {
  if (pointer === "") return "";
  try {
    return readPointerText(JSON.parse(body), pointer).slice(0, 64);
  } catch {
    return "";
  }
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
