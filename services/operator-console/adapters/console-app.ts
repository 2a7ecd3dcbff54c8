import Koa, { type Middleware } from "koa";
import { AppError, asAppError, ERRORS } from "../../shared/core/errors.ts";
import { newId } from "../../shared/core/ids.ts";
import type { Logger } from "../../shared/core/logger.ts";
import { runInCall } from "../../shared/rpc/call-context.ts";
import { toAppError } from "../../shared/rpc/error-status.ts";
import { CONSOLE_HEADERS, createConsoleFiles } from "../../shared/web/console-files.ts";
import { type Admission, admit } from "./admission.ts";
import type { Routes } from "./routes.ts";
import { signInRoutes } from "./sign-in.ts";

const API = "/operators/api/";

/** Creates the application: pages, sign-in, and the calls of signed-in operators. */
export function createConsoleApp(admission: Admission, routes: Routes, log: Logger): Koa {
  const app = new Koa();
  app.silent = true;
  app.use(answerErrors(log));
  app.use(createConsoleFiles("operators", ({ path }) => path));
  app.use(serve(admission, routes, log));
  return app;
}

/** Turns every error into a problem (RFC 9457), in the form that the pages read. */
function answerErrors(log: Logger): Middleware {
  return async (context, next) => {
    const requestId = newId("request");
    context.state.requestId = requestId;
    context.set("X-Request-Id", requestId);
    context.set(CONSOLE_HEADERS);
    try {
      await next();
    } catch (thrown) {
      const error = asAppError(thrown);
      context.state.code = error.code;
      if (error.code === "internal_error")
        log.error({ error: thrown, requestId }, "a request failed");
      const { http: status, title } = ERRORS[error.code];
      context.status = status;
      if (error.retryAfterMs !== undefined) {
        context.set("Retry-After", String(Math.ceil(error.retryAfterMs / 1000)));
      }
      context.body = {
        ...{ title, status, code: error.code, detail: error.message },
        ...(error.fields.length === 0 ? {} : { errors: error.fields }),
      };
      context.type = "application/problem+json";
      // The body was not read to its end: close the connection rather than read the rest.
      if (!context.req.complete) context.set("Connection", "close");
    }
  };
}

function serve(admission: Admission, { fixed, rpc }: Routes, log: Logger): Middleware {
  return async (context) => {
    if (context.path === "/") return context.redirect("/operators");
    if (!context.path.startsWith(API)) throw new AppError("not_found", "There is no such path.");
    context.set("Cache-Control", "no-store");
    const path = context.path.slice(API.length);
    const { requestId } = context.state as { requestId: string };
    const opening = signInRoutes[`${context.method} ${path}`];
    if (opening !== undefined) {
      return runInCall({ requestId }, () => opening(admission, context));
    }
    const call = await runInCall({ requestId }, () => admit(admission, context));
    const isRpc = path.startsWith("rpc/");
    const route = isRpc
      ? rpc(path.slice("rpc/".length))
      : fixed[`${context.method} ${path.replace(/ses_[0-9A-Z]{26}$/, ":id")}`];
    if (route === undefined) throw new AppError("not_found", "There is no such path.");
    if (isRpc && context.method !== "POST") {
      context.set("Allow", "POST");
      throw new AppError("method_not_allowed", "An RPC is called by POST.");
    }
    const actor = { actorName: call.person, actorAddress: call.address };
    const begunMs = performance.now();
    let code = "ok";
    try {
      const body = await runInCall({ requestId, ...actor }, () => route(call, context));
      if (body === undefined) context.status = 204;
      else context.body = body;
    } catch (thrown) {
      const error = toAppError(thrown);
      code = error.code;
      throw error;
    } finally {
      // Reads leave no entry in an audit trail, so this line is their record.
      const durationMs = Math.round(performance.now() - begunMs);
      const { person, role, address } = call;
      log.info({ requestId, person, role, address, path, code, durationMs }, "operator call");
    }
  };
}
