/**
 * The checks of one request, in order: id → overload (503) → body (413, 415) → key (401) → address (403) → rate
 * limit (429) → path and method (404, 405) → scope (403) → handler. One catch turns every error into a problem.
 * The key, address and rate limit of a large body are checked as soon as 413 and 415 are decided, before it is read.
 */
import Koa, { type Context, type Middleware } from "koa";
import { AppError, asAppError } from "../services/shared/core/errors.ts";
import { newId } from "../services/shared/core/ids.ts";
import type { Logger } from "../services/shared/core/logger.ts";
import { traceFields } from "../services/shared/io/tracing.ts";
import { runInCall } from "../services/shared/rpc/call-context.ts";
import { type AdmissionParts, charge, identify, removeRateLimitHeaders } from "./auth/admission.ts";
import { actorName, type Caller, isTestKey } from "./auth/caller.ts";
import { announcesBody, type BodyLimits, isCsv, readBody } from "./http/body.ts";
import type { Cors } from "./http/cors.ts";
import { mustDrain, respondAndDrain } from "./http/drain-request.ts";
import { isDuplicateHeader } from "./http/duplicate-header.ts";
import type { FinishedRequest } from "./http/finished-request.ts";
import { LARGE_BYTES, type LargeBodies } from "./http/large-bodies.ts";
import { problemHeaders, respondWithProblem, toProblem } from "./http/problem.ts";
import { callerTrace, endRequestSpan, openRequestSpan } from "./http/request-span.ts";
import type { RequestState } from "./http/request-state.ts";
import { parseRequestTarget } from "./http/request-target.ts";
import type { ResponseBudget } from "./http/response-budget.ts";
import { setHeader } from "./http/set-header.ts";
import { type LoadLimiter, serviceBusy } from "./load-shedding/load-limiter.ts";
import { beginRead, type ReadShares } from "./load-shedding/read-shares.ts";
import { deprecationHeaders } from "./operations/deprecation.ts";
import type { Operation, OperationResponse } from "./operations/operation.ts";
import {
  allowedMethods,
  compileOperations,
  methodNotAllowed,
  type OperationTable,
  operationFor,
  type PathMatch,
} from "./operations/operation-table.ts";

/** The parts of the application. */
export type AppParts = AdmissionParts & {
  readonly operations: readonly Operation[];
  /** Serves paths that need no key (docs, OpenAPI, error pages); calls `next` for all others. */
  readonly pages: Middleware;
  /** Serves the console and its sessions; calls `next` for all others. */
  readonly console: Middleware;
  readonly cors: Cors;
  readonly loadLimiter: LoadLimiter;
  readonly docsUrl: string;
  readonly log: Logger;
  readonly bodyLimits: BodyLimits;
  readonly largeBodies: LargeBodies;
  readonly reads: ReadShares;
  readonly responses: ResponseBudget;
  readonly onFinish: (request: FinishedRequest) => void;
};

/** Statuses documented without RateLimit headers, although a large body may already have taken tokens. */
const BEFORE_LIMIT: ReadonlySet<number> = new Set([401, 408, 413]);

const NO_TRACE: Readonly<Record<string, string>> = {};

/** Creates the Koa application. */
export function createApp(parts: AppParts): Koa {
  const app = new Koa();
  app.silent = true;
  const table = compileOperations(parts.operations);
  app.use(outermost(parts, table));
  app.use(byPath(parts, dispatch(parts, table)));
  return app;
}

/** Skips the pages and the console for API requests: neither has a path below `/v1/`. */
function byPath(
  { pages, console }: AppParts,
  api: (context: Context) => Promise<void>,
): Middleware {
  return (context) =>
    isApi(context) ? api(context) : pages(context, () => console(context, () => api(context)));
}

function isApi({ state }: Context): boolean {
  return (state as RequestState).path.startsWith("/v1/");
}

/** Assigns the request id, applies the load limit, turns errors into problems and reports the request. */
function outermost(parts: AppParts, table: OperationTable): Middleware {
  return async (context, next) => {
    const state = context.state as RequestState;
    state.requestId = newId("request");
    state.startedMs = performance.now();
    const { path, query } = parseRequestTarget(context.req.url ?? "/");
    state.path = path;
    state.query = query;
    state.match = table.match(path);
    state.span = openRequestSpan(context, state.match?.path);
    setHeader(context, "X-Request-Id", state.requestId);
    setHeader(context, "Cache-Control", "no-store");
    parts.cors(context, undefined);
    let code = "";
    state.isCountedIn = false;
    state.paidTokens = 0;
    try {
      // A request whose body is still arriving does no work yet, so it is counted in after the body.
      if (!announcesBody(context.req)) countIn(parts, state);
      else if (!parts.loadLimiter.hasCapacity()) throw serviceBusy();
      if (context.req.headers.host === undefined && context.req.httpVersionMinor > 0) {
        throw new AppError("bad_request", "The request has no Host header.");
      }
      if (isDuplicateHeader(context.req.rawHeaders, "host")) {
        throw new AppError("bad_request", "The request has two Host headers. Send one.");
      }
      await next();
      // A page does not read the body of its request. Node would read an endless one to its end.
      if (context.body && mustDrain(context.res, false)) respondAndDrain(context);
    } catch (thrown) {
      code = respondWithError(parts, context, thrown);
    } finally {
      countOut(parts, state);
      state.bodyReservation?.release();
      state.isFinished = true;
      for (const one of state.releases ?? []) one();
      report(parts, context, code);
    }
  };
}

function report(parts: AppParts, context: Context, code: string): void {
  const state = context.state as RequestState;
  const { body } = context;
  // Pages are buffers that all their responses share.
  if (typeof body === "string" && context.method !== "HEAD") {
    parts.responses.hold(context.res, Buffer.byteLength(body), state.caller?.tenantId ?? "");
  }
  const finished: FinishedRequest = {
    requestId: state.requestId,
    method: context.method,
    route: state.match?.path ?? "",
    status: context.status,
    durationMs: performance.now() - state.startedMs,
    tenantId: state.caller?.tenantId ?? "",
    code,
    ...(state.span === undefined ? NO_TRACE : traceFields(state.span.traceparent)),
  };
  endRequestSpan(state.span, finished);
  parts.onFinish(finished);
}

/** Counts the request in, once. Throws `service_unavailable` at the load limit. */
function countIn({ loadLimiter }: AppParts, state: RequestState): void {
  if (state.isCountedIn) return;
  loadLimiter.acquire();
  state.isCountedIn = true;
}

/** Counts the request out, if it is counted in. */
function countOut({ loadLimiter }: AppParts, state: RequestState): void {
  if (!state.isCountedIn) return;
  loadLimiter.release();
  state.isCountedIn = false;
}

/** Responds with the problem of an error, and returns its code. */
function respondWithError(parts: AppParts, context: Context, thrown: unknown): string {
  const state = context.state as RequestState;
  const error = asAppError(thrown);
  if (error.code === "internal_error") {
    parts.log.error({ error: thrown, requestId: state.requestId }, "a request failed");
  }
  if (error.code !== "payload_too_large" && error.code !== "unsupported_media_type") {
    const operation = operationFor(state.match, context.method);
    if (operation?.isDeprecated === true) context.set(deprecationHeaders(parts.docsUrl));
  }
  const problem = toProblem(error, state.requestId, parts.docsUrl);
  if (BEFORE_LIMIT.has(problem.status)) removeRateLimitHeaders(context);
  respondWithProblem(context, problem, problemHeaders(error));
  const isTooSlow = error.code === "request_timeout" || state.bodyReservation?.isEvicted() === true;
  if (mustDrain(context.res, isTooSlow)) respondAndDrain(context);
  return error.code;
}

/** The checks from the body to the handler, in the order of the contract. */
function dispatch(parts: AppParts, table: OperationTable): (context: Context) => Promise<void> {
  const deprecation = deprecationHeaders(parts.docsUrl);
  return async (context) => {
    const state = context.state as RequestState;
    const { match } = state;
    const operation = operationFor(match, context.method);
    state.bodyBytes = await readBody(context.req, context.res, parts.bodyLimits, {
      onReserve(reservation) {
        state.bodyReservation = reservation;
      },
      takesCsv: operation?.doc.body?.csvExample !== undefined,
      admitLarge: (bytes) => admitLarge(parts, context, bytes),
    });
    countIn(parts, state);
    if (match === undefined || operation === undefined) return unmatched(parts, table, context);
    const caller = await identify(parts, context);
    await charge(parts, context, caller, state.bodyBytes.length);
    if (!caller.scopes.has(operation.scope)) {
      throw new AppError("insufficient_scope", lacksScope(caller, operation.scope));
    }
    if (operation.isLiveOnly === true && isTestKey(caller)) {
      throw new AppError("insufficient_scope", LIVE_ONLY);
    }
    if (state.bodyBytes.length > LARGE_BYTES) {
      const { tenantId } = caller;
      releaseAtEnd(state, await parts.largeBodies.handle(tenantId, state.bodyBytes.length));
    }
    const read = beginRead(parts.reads, operation, caller.tenantId);
    if (read !== undefined) releaseAtEnd(state, await read);
    // Do not execute a request whose client has left (ADR 81): after a stall of this process the client may have
    // sent it again elsewhere.
    const hasLeft = context.res.destroyed || !context.req.socket.writable;
    if (hasLeft) throw new AppError("request_timeout", "The client has left.");
    if (operation.isDeprecated === true) context.set(deprecation);
    if (operation.isLongPoll === true) countOut(parts, state);
    respond(context, await handle(context, operation, match));
  };
}

const LIVE_ONLY = "A test key may not change rules of live messages. Use a live key.";

function lacksScope({ session }: Caller, scope: string): string {
  return session === undefined
    ? `The API key lacks the scope ${scope}.`
    : `The role ${session.role} lacks the scope ${scope}.`;
}

/**
 * Admits a large body before it is read: otherwise bodies without a valid key, or beyond the rate limit, would take
 * memory and time. Returns whether to keep the body: false outside the API, and without an operation.
 */
async function admitLarge(parts: AppParts, context: Context, bytes: number): Promise<boolean> {
  const state = context.state as RequestState;
  if (!isApi(context)) return false;
  const caller = await identify(parts, context);
  // The length of a chunked body is not known yet: `dispatch` charges the rest when the body is complete.
  const isAnnounced = context.req.headers["content-length"] !== undefined;
  await charge(parts, context, caller, isAnnounced ? bytes : LARGE_BYTES);
  if (operationFor(state.match, context.method) === undefined) return false;
  releaseAtEnd(state, await parts.largeBodies.receive(caller.tenantId, bytes));
  return true;
}

/** Adds a function to the request's releases. If the request has ended, as when its client left, runs it at once. */
function releaseAtEnd(state: RequestState, one: () => void): void {
  if (state.isFinished === true) one();
  else state.releases = [...(state.releases ?? []), one];
}

/** Calls the handler, inside the call context that RPCs inherit. */
function handle(
  context: Context,
  operation: Operation,
  match: PathMatch,
): Promise<OperationResponse> {
  const { requestId, caller, query, bodyBytes, span, address } =
    context.state as Required<RequestState>;
  const { headers } = context.req;
  const traceparent = span?.traceparent ?? callerTrace(headers);
  const idempotencyKey = headers["idempotency-key"] as string | undefined;
  const { params } = match;
  const whenLeft = () => leftSignal(context);
  const forms = { isCsv: isCsv(context.req), wantsCsv: wantsCsv(context), whenLeft };
  const { tenantId } = caller;
  // For the audit trails of services; a read leaves no entry.
  const call =
    context.method === "GET"
      ? { requestId, tenantId, traceparent }
      : { requestId, tenantId, traceparent, actorName: actorName(caller), actorAddress: address };
  return runInCall(call, () =>
    operation.handle({ caller, requestId, params, query, bodyBytes, idempotencyKey, ...forms }),
  );
}

function leftSignal({ res }: Context): AbortSignal {
  const left = new AbortController();
  if (res.destroyed) left.abort();
  else res.once("close", () => left.abort());
  return left.signal;
}

function respond(context: Context, response: OperationResponse): void {
  context.status = response.status;
  for (const name in response.headers) setHeader(context, name, response.headers[name] ?? "");
  if (response.csv !== undefined) {
    setHeader(context, "Content-Type", "text/csv; charset=utf-8");
    context.body = response.csv;
  }
  if (response.csvStream !== undefined) {
    setHeader(context, "Content-Type", "text/csv; charset=utf-8");
    // Koa closes the stream when the client leaves, and breaks the transfer off when the stream fails.
    context.body = response.csvStream;
  }
  if (response.body === undefined) return;
  // Set the type before the body, or Koa guesses one.
  setHeader(context, "Content-Type", "application/json; charset=utf-8");
  context.body = JSON.stringify(response.body);
}

/**
 * True when the client prefers CSV to JSON (RFC 9110 section 12.5.1). Generated clients name both, JSON first; JSON is
 * also the answer to a client that takes neither.
 */
function wantsCsv(context: Context): boolean {
  if (!/csv/i.test(context.req.headers.accept ?? "")) return false;
  return context.accepts("application/json", "text/csv") === "text/csv";
}

/** Answers paths and methods that no operation has. Below /v1 the caller must be admitted first. */
async function unmatched(parts: AppParts, table: OperationTable, context: Context): Promise<void> {
  const { match, path, bodyBytes } = context.state as RequestState;
  const allow = match === undefined ? undefined : allowedMethods(match);
  if (allow !== undefined && context.method === "OPTIONS") {
    context.status = 204;
    context.set("Allow", allow);
    parts.cors(context, allow);
    return;
  }
  if (isApi(context)) {
    await charge(parts, context, await identify(parts, context), bodyBytes.length);
  }
  if (allow !== undefined) {
    context.set("Allow", allow);
    throw methodNotAllowed(context.method, allow);
  }
  const near = table.nearest(path);
  const hint = near === undefined ? "" : ` Did you mean ${near}?`;
  throw new AppError("not_found", `There is no such path.${hint}`);
}
