/** The span of one REST request, by OpenTelemetry's conventions for HTTP servers. */
import type { Context } from "koa";
import { type OpenSpan, tracer } from "../../services/shared/io/tracing.ts";
import { TRACEPARENT } from "../../services/shared/rpc/call-context.ts";
import type { FinishedRequest } from "./finished-request.ts";

/** The caller's `traceparent`, if it is well-formed. */
export function callerTrace(headers: Context["req"]["headers"]): string | undefined {
  const traceparent = headers.traceparent as string | undefined;
  return traceparent !== undefined && TRACEPARENT.test(traceparent) ? traceparent : undefined;
}

/** Opens the span of a request to a known path; undefined for other paths and with tracing off. */
export function openRequestSpan(context: Context, route: string | undefined): OpenSpan | undefined {
  if (tracer === undefined || route === undefined) return undefined;
  return tracer.start(`${context.method} ${route}`, {
    kind: "server",
    parent: callerTrace(context.req.headers),
    isEdge: true,
    attributes: {
      "http.request.method": context.method,
      // Use the template: the path as sent may hold any text.
      "http.route": route,
      "url.scheme": context.protocol,
      "network.protocol.version": context.req.httpVersion,
    },
  });
}

/** Ends the span with the fields of the access log. */
export function endRequestSpan(span: OpenSpan | undefined, request: FinishedRequest): void {
  if (span === undefined) return;
  span.set({
    "http.response.status_code": request.status,
    "sms.request.id": request.requestId,
    "sms.tenant.id": request.tenantId || undefined,
    "sms.error.code": request.code || undefined,
  });
  span.end(request.status >= 500 ? String(request.status) : undefined);
}
