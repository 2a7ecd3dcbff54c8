/** Calls of the API with the session's cookie. */
import type { One } from "./types.ts";

/** A field that was refused. */
export type FieldFault = {
  readonly field: string;
  readonly code: string;
  readonly message: string;
};

/** A refusal: problem+json (RFC 9457), or a request that got no answer. */
export class ApiProblem extends Error {
  readonly status: number;
  readonly code: string;
  readonly requestId: string;
  readonly fields: readonly FieldFault[];
  readonly retryAfterMs: number;

  constructor(problem: {
    readonly status: number;
    readonly code: string;
    readonly detail: string;
    readonly requestId: string;
    readonly fields: readonly FieldFault[];
    readonly retryAfterMs: number;
  }) {
    super(problem.detail);
    this.status = problem.status;
    this.code = problem.code;
    this.requestId = problem.requestId;
    this.fields = problem.fields;
    this.retryAfterMs = problem.retryAfterMs;
  }
}

/** Live or test: what the person has chosen. */
export type Mode = "live" | "test";

const MODE_KEY = "sms-console-mode";

/** The mode of all requests of this browser. */
export function currentMode(): Mode {
  return localStorage.getItem(MODE_KEY) === "test" ? "test" : "live";
}

export function chooseMode(mode: Mode): void {
  localStorage.setItem(MODE_KEY, mode);
}

export type CallOptions = {
  readonly query?: Readonly<Record<string, string | number | readonly string[] | undefined>>;
  readonly body?: unknown;
  /** A file in place of JSON. */
  readonly csv?: Blob;
  /** The same key again makes no second change. */
  readonly key?: string;
  /** A file as the answer. */
  readonly wantsCsv?: boolean;
  readonly signal?: AbortSignal;
};

const TIMEOUT_MS = 30_000;
/** A file of a million rows takes some seconds to send. */
const FILE_TIMEOUT_MS = 180_000;

/** Calls the API; throws `ApiProblem`. */
export async function call<T>(
  method: "GET" | "POST" | "PATCH" | "DELETE",
  path: string,
  options: CallOptions = {},
): Promise<T> {
  const response = await request(method, path, options);
  const text = await response.text();
  const body: unknown = text === "" ? undefined : parse(text);
  if (!response.ok) throw toProblem(response, body);
  return body as T;
}

/** The data of an answer; throws `ApiProblem`. */
export async function data<T>(answer: Promise<One<T>>): Promise<T> {
  return (await answer).data;
}

/** Fetches a list as a CSV file; throws `ApiProblem`. */
export async function download(path: string, options: CallOptions = {}): Promise<Blob> {
  const response = await request("GET", path, { ...options, wantsCsv: true });
  if (response.ok) return response.blob();
  throw toProblem(response, parse(await response.text()));
}

async function request(method: string, path: string, options: CallOptions): Promise<Response> {
  const { query, body, csv, key, signal, wantsCsv = false } = options;
  const headers: Record<string, string> = { "Sms-Console": "1", "Sms-Mode": currentMode() };
  if (key !== undefined) headers["Idempotency-Key"] = key;
  if (wantsCsv) headers.Accept = "text/csv";
  if (csv !== undefined) headers["Content-Type"] = "text/csv";
  else if (body !== undefined) headers["Content-Type"] = "application/json";
  const timeout = AbortSignal.timeout(
    csv === undefined && !wantsCsv ? TIMEOUT_MS : FILE_TIMEOUT_MS,
  );
  try {
    return await fetch(path + toQuery(query), {
      method,
      headers,
      credentials: "same-origin",
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
      body: csv ?? (body === undefined ? null : JSON.stringify(body)),
    });
  } catch (cause) {
    if (signal?.aborted === true) throw cause;
    throw new ApiProblem({
      status: 0,
      code: "no_answer",
      detail: "The service did not answer. Check the connection and try again.",
      requestId: "",
      fields: [],
      retryAfterMs: 1000,
    });
  }
}

function toQuery(query: CallOptions["query"]): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value === undefined || value === "") continue;
    // A parameter of several values is repeated (docs/contract.md#lists).
    for (const one of Array.isArray(value) ? value : [value]) params.append(name, String(one));
  }
  const text = params.toString();
  return text === "" ? "" : `?${text}`;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function toProblem(response: Response, body: unknown): ApiProblem {
  const problem = (body ?? {}) as {
    code?: string;
    detail?: string;
    title?: string;
    errors?: FieldFault[];
  };
  return new ApiProblem({
    status: response.status,
    code: problem.code ?? `http_${response.status}`,
    detail: problem.detail ?? problem.title ?? "The request was refused.",
    requestId: response.headers.get("X-Request-Id") ?? "",
    fields: problem.errors ?? [],
    retryAfterMs: Number(response.headers.get("Retry-After") ?? 0) * 1000,
  });
}

/** A new idempotency key: one for each form, so that a second click does not send twice. */
export function newKey(): string {
  return crypto.randomUUID();
}
