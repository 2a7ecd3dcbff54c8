/** Spans of accepted sends and published changes. */
import { idTimeMs } from "../../shared/core/ids.ts";
import { following, type OpenSpan, recordedTrace, tracer } from "../../shared/io/tracing.ts";
import { activeCall } from "../../shared/rpc/call-context.ts";
import type { CallTrace } from "../app/ports.ts";
import type { StatusEvent } from "../domain/message.ts";

/** The trace of the RPC that is being served. */
export const callTrace: CallTrace = {
  current: () => activeCall()?.traceparent,
  recorded: () => recordedTrace(activeCall()?.traceparent),
};

/**
 * Opens the span of one send of a batch. It belongs to the trace of its own request, and links to the call if that
 * has another trace.
 */
export function openAcceptSpan(
  own: string | undefined,
  call: string | undefined,
): OpenSpan | undefined {
  const traceparent = own || call;
  if (tracer === undefined || traceparent === undefined) return undefined;
  const isSameTrace = call !== undefined && call.slice(0, 35) === traceparent.slice(0, 35);
  return tracer.start("accept send", {
    kind: "internal",
    parent: isSameTrace ? call : traceparent,
    links: isSameTrace || call === undefined ? [] : [call],
  });
}

/**
 * Records the creation of an event, as the OpenTelemetry conventions for batched messages require, and returns the
 * `traceparent` of the event. The cause is the call that changed the message, else the call that accepted it.
 */
export function noteEvent(
  event: StatusEvent,
  id: string,
  cause: string | undefined,
): string | undefined {
  const { message } = event;
  const traceparent = cause ?? message.trace;
  if (tracer === undefined || traceparent === undefined) return traceparent;
  const ageMs = cause === undefined ? message.updatedAtMs - idTimeMs(message.id) : 0;
  const span = tracer.start("create events.message", {
    kind: "producer",
    ...following(traceparent, ageMs),
    attributes: {
      "messaging.system.name": "nats",
      "messaging.operation.name": "create",
      "messaging.operation.type": "create",
      "messaging.destination.template": "events.message.{tenant}.{status}",
      "messaging.message.id": id,
      "sms.message.id": message.id,
      "sms.message.status": message.status,
      "sms.tenant.id": message.tenantId,
    },
  });
  span.end();
  return recordedTrace(span.traceparent);
}
