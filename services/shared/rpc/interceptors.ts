/**
 * The work around every served call, as one Connect interceptor: authentication, call context, error mapping
 * and a report. The gRPC server and the local transport have the same built in, without the cost of
 * interceptors; this one is for Connect's own handlers, such as the JSON form.
 */
import type { Interceptor, StreamResponse } from "@connectrpc/connect";
import type { RpcAuth } from "./auth.ts";
import { type CallContext, readCall, runInCall } from "./call-context.ts";
import { type CallReport, type RpcLog, statusName } from "./call-report.ts";
import { showError } from "./error-status.ts";

/** The dependencies of the interceptor. */
export type ServerInterceptorOptions = {
  readonly auth?: RpcAuth | undefined;
  readonly onCall?: ((report: CallReport) => void) | undefined;
  readonly log?: RpcLog | undefined;
};

/** Must be the first interceptor, which is the outermost. */
export function createServerInterceptor(options: ServerInterceptorOptions): Interceptor {
  return (next) => async (request) => {
    const method = `${request.service.typeName}/${request.method.name}`;
    const startedMs = performance.now();
    const report = (code: number): void =>
      options.onCall?.({
        method,
        code: statusName(code),
        durationMs: performance.now() - startedMs,
      });
    const fail = (thrown: unknown): never => {
      const { error, isFault } = showError(thrown);
      if (isFault) options.log?.error({ method, error: thrown }, "rpc handler failed");
      report(error.code);
      throw error;
    };
    const header = (name: string): string | undefined => request.header.get(name) ?? undefined;
    try {
      const isOpen = request.service.typeName.startsWith("grpc.");
      const caller = isOpen ? undefined : options.auth?.authorize(method, header("authorization"));
      const context = readCall(header, {
        caller,
        method,
        deadlineAtMs: deadlineOf(header("connect-timeout-ms")),
      });
      const response = await runInCall(context, () => next(request));
      context.isSettled = !response.stream;
      if (response.stream)
        return { ...response, message: watched(context, response, report, fail) };
      report(0);
      return response;
    } catch (thrown) {
      return fail(thrown);
    }
  };
}

/** The items of a stream; each is produced inside the call's context. */
function watched(
  context: CallContext,
  response: StreamResponse,
  report: (code: number) => void,
  fail: (thrown: unknown) => never,
): StreamResponse["message"] {
  return {
    [Symbol.asyncIterator]() {
      const items = response.message[Symbol.asyncIterator]();
      return {
        async next() {
          try {
            const item = await runInCall(context, () => items.next());
            if (item.done === true) {
              context.isSettled = true;
              report(0);
            }
            return item;
          } catch (thrown) {
            return fail(thrown);
          }
        },
        async return(value?: unknown) {
          await items.return?.();
          return { done: true, value };
        },
      };
    },
  };
}

function deadlineOf(timeoutMs: string | undefined): number | undefined {
  return timeoutMs !== undefined && /^\d{1,10}$/.test(timeoutMs)
    ? Date.now() + Number(timeoutMs)
    : undefined;
}
