/**
 * One request's way: id → overload (503) → body (413, 415) → caller (401) → address (403) → rate
 * (429) → path and method (404, 405) → scope (403) → handler. Whatever throws on the way becomes
 * a problem in one place.
 */
import Koa, { type Context, type Middleware } from "koa";
import { AppError, asAppError } from "../services/shared/core/errors.ts";
import { newId } from "../services/shared/core/ids.ts";
import type { Logger } from "../services/shared/core/logger.ts";
import { traceFields } from "../services/shared/io/tracing.ts";
import { runInCall } from "../services/shared/rpc/call-context.ts";
import { type AdmissionParts, admit } from "./auth/admission.ts";
import { announcesBody, type BodyLimits, readBody } from "./http/body.ts";
import type { Cors } from "./http/cors.ts";
import { mustDrain, respondAndDrain } from "./http/drain-request.ts";
import { isDuplicateHeader } from "./http/duplicate-header.ts";
import { problemHeaders, respondWithProblem, toProblem } from "./http/problem.ts";
import { callerTrace, endRequestSpan, openRequestSpan } from "./http/request-span.ts";
import type { RequestState } from "./http/request-state.ts";
import { parseRequestTarget } from "./http/request-target.ts";
import { setHeader } from "./http/set-header.ts";
import { type LoadLimiter, serviceBusy } from "./load-shedding/limiter.ts";
import { deprecationHeaders } from "./operations/deprecation.ts";
import type { Operation } from "./operations/operation.ts";
import {
  allowedMethods,
  compileOperations,
  type OperationTable,
  operationFor,
} from "./operations/operation-table.ts";

/** What the app is made of. */
export type AppParts = AdmissionParts & {
  readonly operations: readonly Operation[];
  /** Answers paths that need no key (docs, OpenAPI, error pages), or passes on. */
  readonly pages: Middleware;
  readonly cors: Cors;
  readonly loadLimiter: LoadLimiter;
  readonly docsUrl: string;
  readonly log: Logger;
  readonly bodyLimits: BodyLimits;
  readonly onFinish: (request: FinishedRequest) => void;
};

/** What is known of a request once it has been answered; for the log line and metrics. */
export type FinishedRequest = {
  readonly requestId: string;
  readonly method: string;
  /** Path template, or empty when no route matched. */
  readonly route: string;
  readonly status: number;
  readonly durationMs: number;
  readonly tenantId: string;
  readonly code: string;
  /** Only while traces are on. */
  readonly trace_id?: string;
  readonly span_id?: string;
};

const NO_TRACE: Readonly<Record<string, string>> = {};

/** Builds the Koa application. */
export function createApp(parts: AppParts): Koa {
  const app = new Koa();
  app.silent = true;
  const table = compileOperations(parts.operations);
  app.use(outermost(parts, table));
  app.use(parts.pages);
  app.use(dispatch(parts));
  return app;
}

/** Gives the request an id, bounds how many run at once, and turns errors into problems. */
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
    try {
      // While its body is on its way nothing is done for a request, so it takes no room yet.
      if (!announcesBody(context.req)) countIn(parts, state);
      else if (!parts.loadLimiter.hasCapacity()) throw serviceBusy();
      if (context.req.headers.host === undefined && context.req.httpVersionMinor > 0) {
        throw new AppError("bad_request", "An HTTP/1.1 request names its host.");
      }
      if (isDuplicateHeader(context.req.rawHeaders, "host")) {
        throw new AppError("bad_request", "A request names its host once.");
      }
      await next();
    } catch (thrown) {
      code = answerError(parts, context, thrown);
    } finally {
      if (state.isCountedIn) parts.loadLimiter.leave();
      state.bodyReservation?.leave();
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
  };
}

/** Counts the request among those in progress, once. Throws `service_unavailable` when there is no room. */
function countIn({ loadLimiter }: AppParts, state: RequestState): void {
  if (state.isCountedIn) return;
  loadLimiter.enter();
  state.isCountedIn = true;
}

/** Answers with the problem of whatever was thrown, and gives its code back. */
function answerError(parts: AppParts, context: Context, thrown: unknown): string {
  const state = context.state as RequestState;
  const error = asAppError(thrown);
  if (error.code === "internal_error") {
    parts.log.error({ error: thrown, requestId: state.requestId }, "a request failed");
  }
  if (error.code !== "payload_too_large" && error.code !== "unsupported_media_type") {
    const operation = operationFor(state.match, context.method);
    if (operation?.isDeprecated === true) context.set(deprecationHeaders(parts.docsUrl));
  }
  respondWithProblem(
    context,
    toProblem(error, state.requestId, parts.docsUrl),
    problemHeaders(error),
  );
  const isTooSlow = error.code === "request_timeout" || state.bodyReservation?.isEvicted() === true;
  if (mustDrain(context.res, isTooSlow)) respondAndDrain(context);
  return error.code;
}

/** Everything from the body to the handler, in the order of the contract. */
function dispatch(parts: AppParts): Middleware {
  const deprecation = deprecationHeaders(parts.docsUrl);
  return async (context) => {
    const state = context.state as RequestState;
    const { match } = state;
    const operation = operationFor(match, context.method);
    state.bodyBytes = await readBody(context.req, context.res, parts.bodyLimits, (place) => {
      state.bodyReservation = place;
    });
    countIn(parts, state);
    if (match === undefined || operation === undefined) return unmatched(parts, context);
    const caller = await admit(parts, context);
    if (!caller.scopes.has(operation.scope)) {
      throw new AppError("insufficient_scope", `The API key lacks the scope ${operation.scope}.`);
    }
    // A gateway that stood still finds requests that their clients have sent again elsewhere (ADR 81), or were
    // told to, when what was missing came too late.
    const hasLeft = context.res.destroyed || !context.req.socket.writable;
    if (hasLeft) throw new AppError("request_timeout", "The client has left.");
    if (operation.isDeprecated === true) context.set(deprecation);
    const { requestId } = state;
    const { headers } = context.req;
    const traceparent = state.span?.traceparent ?? callerTrace(headers);
    const call = { requestId, tenantId: caller.tenantId, traceparent };
    const answer = await runInCall(call, () =>
      operation.handle({
        caller,
        requestId,
        params: match.params,
        query: state.query,
        bodyBytes: state.bodyBytes,
        idempotencyKey: headers["idempotency-key"] as string | undefined,
      }),
    );
    context.status = answer.status;
    for (const name in answer.headers) setHeader(context, name, answer.headers[name] ?? "");
    if (answer.body === undefined) return;
    // Before the body, or Koa would look for a type by itself.
    setHeader(context, "Content-Type", "application/json; charset=utf-8");
    context.body = JSON.stringify(answer.body);
  };
}

/** Paths and methods that no operation has: below /v1 the caller is asked for first. */
async function unmatched(parts: AppParts, context: Context): Promise<void> {
  const { match, path } = context.state as RequestState;
  const allow = match === undefined ? undefined : allowedMethods(match);
  if (allow !== undefined && context.method === "OPTIONS") {
    context.status = 204;
    context.set("Allow", allow);
    parts.cors(context, allow);
    return;
  }
  if (path.startsWith("/v1/")) await admit(parts, context);
  if (allow !== undefined) {
    context.set("Allow", allow);
    throw new AppError("method_not_allowed", "This path does not have that method.");
  }
  throw new AppError("not_found", "There is no such path.");
}
