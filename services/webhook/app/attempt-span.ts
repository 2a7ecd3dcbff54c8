import { following, type OpenSpan, tracer } from "../../shared/io/tracing.ts";
import type { AttemptResult, Claimed } from "../domain/delivery.ts";

/** Opens the span of one attempt; undefined for events that nobody traces. */
export function openAttemptSpan(claimed: Claimed, nowMs: number): OpenSpan | undefined {
  const { trace } = claimed;
  if (tracer === undefined || trace === undefined) return undefined;
  return tracer.start("POST", {
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
}

/** Ends it with what came of the request; without a result the attempt was not made. */
export function endAttemptSpan(
  span: OpenSpan | undefined,
  result: AttemptResult | undefined,
): void {
  if (span === undefined) return;
  span.set({ "http.response.status_code": result?.httpStatus || undefined });
  span.end(result === undefined ? "dropped" : result.error || undefined);
}
