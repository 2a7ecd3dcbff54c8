/** One call of the API: attempts, retries, time limits. */
import { isSmsError, noResponse, refusedError, type SmsError } from "./errors.ts";
import { ERROR_CODES, OPERATIONS, type OperationId } from "./generated/operations.ts";
import { parseRetryAfter, retryWaitMs } from "./retry.ts";

/** Settings of a client. */
export type ClientSettings = {
  /** `sk_live_…`, or `sk_test_…` for test mode, in which messages reach no phone and cost nothing. */
  readonly apiKey: string;
  /** The address of the API, for example `https://api.example.com`. */
  readonly baseUrl: string;
  /** The time limit of one attempt. 30 s. */
  readonly timeoutMs?: number;
  /** How often a failed attempt is repeated. 4: at least 15 s in all. */
  readonly maxRetries?: number;
  /** Another `fetch`, for example one with a proxy. */
  readonly fetch?: typeof fetch;
  /** Told of every response, for logs. */
  readonly onResponse?: (seen: SeenResponse) => void;
};

/** Settings of one call. */
export type CallOptions = {
  /**
   * 1 to 64 of A-Z, a-z, 0-9, `_` and `-`. Without it each call has a random one, which covers the retries of the call
   * but not those of your own program: give a key that outlives your process for sends that must not happen twice.
   */
  readonly idempotencyKey?: string;
  /** Ends the call, with the signal's reason. The request may have had its effect. */
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
  readonly maxRetries?: number;
};

/** One response, as the hook `onResponse` sees it. */
export type SeenResponse = {
  readonly operation: OperationId;
  readonly attempt: number;
  readonly status: number;
  readonly requestId: string | null;
  /** The stored response of an idempotency key: nothing happened a second time. */
  readonly isReplayed: boolean;
};

/** The variable parts of a request. */
export type RequestParts = {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, unknown>>;
  /** JSON, or a file with its content type. */
  readonly body?: unknown;
  readonly file?: string | Uint8Array<ArrayBuffer> | Blob;
  readonly accept?: string;
};

/** A success. */
export type Success = { readonly text: string; readonly headers: Headers };

/** Executes operations. */
export type Caller = (
  operation: OperationId,
  parts: RequestParts,
  options: CallOptions,
) => Promise<Success>;

const TIMEOUT_MS = 30_000;
const RETRIES_MAX = 4;

/** Creates the function that executes operations. */
export function createCaller(settings: ClientSettings): Caller {
  return async (operation, parts, options) => {
    const request = buildRequest(settings, operation, parts, options);
    const retries = options.maxRetries ?? settings.maxRetries ?? RETRIES_MAX;
    for (let attempt = 1; ; attempt += 1) {
      const answer = await attemptOnce(settings, operation, request, options, attempt);
      if (!isSmsError(answer)) return answer;
      const waitMs = retryWaitMs(answer, attempt, Math.random());
      if (waitMs === undefined || attempt > retries) throw answer;
      await sleep(waitMs, options.signal);
    }
  };
}

type BuiltRequest = {
  readonly url: string;
  readonly init: RequestInit;
};

/** The same for every attempt, its key included. */
function buildRequest(
  settings: ClientSettings,
  operation: OperationId,
  { path = {}, query = {}, body, file, accept = "application/json" }: RequestParts,
  options: CallOptions,
): BuiltRequest {
  const { method, path: template, takesKey } = OPERATIONS[operation];
  const filled = template.replace(/\{(\w+)\}/g, (_whole, name: string) => {
    const value = path[name];
    // An empty part would address the list instead of one of its entries.
    if (!value) throw new TypeError(`${name} is empty`);
    return encodeURIComponent(value);
  });
  const headers: Record<string, string> = {
    authorization: `Bearer ${settings.apiKey}`,
    accept,
  };
  const content = file ?? (body === undefined ? undefined : JSON.stringify(body));
  if (content !== undefined) {
    headers["content-type"] = file === undefined ? "application/json" : "text/csv";
  }
  if (takesKey) headers["idempotency-key"] = options.idempotencyKey ?? randomKey();
  const init = { method, headers, redirect: "manual" as const };
  return {
    url: settings.baseUrl.replace(/\/+$/, "") + filled + queryText(query),
    init: content === undefined ? init : { ...init, body: content },
  };
}

function queryText(query: Readonly<Record<string, unknown>>): string {
  const pairs = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null) pairs.append(name, String(one));
    }
  }
  const text = pairs.toString();
  return text === "" ? "" : `?${text}`;
}

async function attemptOnce(
  settings: ClientSettings,
  operation: OperationId,
  { url, init }: BuiltRequest,
  options: CallOptions,
  attempt: number,
): Promise<Success | SmsError> {
  options.signal?.throwIfAborted();
  const timeout = AbortSignal.timeout(options.timeoutMs ?? settings.timeoutMs ?? TIMEOUT_MS);
  const signal =
    options.signal === undefined ? timeout : AbortSignal.any([options.signal, timeout]);
  let response: Response;
  let text: string;
  try {
    response = await (settings.fetch ?? fetch)(url, { ...init, signal });
    text = await response.text();
  } catch (cause) {
    options.signal?.throwIfAborted();
    return noResponse(timeout.aborted ? "timeout" : "connection_failed", attempt, cause);
  }
  const { status, headers } = response;
  settings.onResponse?.({
    ...{ operation, attempt, status },
    requestId: headers.get("x-request-id"),
    isReplayed: headers.get("idempotent-replayed") === "true",
  });
  if (response.ok) return { text, headers };
  const retryAfterMs = parseRetryAfter(headers.get("retry-after"), Date.now());
  return refusedError({ status, text, retryAfterMs }, attempt, ERROR_CODES);
}

/** `crypto.randomUUID` is missing on pages without HTTPS; this is not. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function sleep(waitMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", end);
      resolve();
    }, waitMs);
    if (signal?.aborted === true) end();
    else signal?.addEventListener("abort", end, { once: true });
  });
}
