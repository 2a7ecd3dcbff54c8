/** Spans of delivery attempts. */
import { following, tracer } from "../../shared/io/tracing.ts";
import type { AttemptTracer } from "../app/ports.ts";

export const attemptTracer: AttemptTracer = {
  start(claimed, nowMs) {
    const { trace } = claimed;
    if (tracer === undefined || trace === undefined) return undefined;
    const span = tracer.start("POST", {
      kind: "client",
      ...following(trace, nowMs - claimed.activatedAtMs),
      attributes: {
        "http.request.method": "POST",
        "http.request.resend_count": claimed.attemptsMade || undefined,
        "sms.webhook.endpoint.id": claimed.endpointId,
        "sms.webhook.delivery.id": claimed.id,
        "sms.webhook.event.type": claimed.eventType,
        "sms.tenant.id": claimed.tenantId,
      },
    });
    return {
      traceparent: span.traceparent,
      end(result) {
        span.set({ "http.response.status_code": result?.httpStatus || undefined });
        span.end(result === undefined ? "dropped" : result.error || undefined);
      },
    };
  },
};
