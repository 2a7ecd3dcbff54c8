/** The span of one batch in a consumer, by OpenTelemetry's conventions for messaging. */
import type { JsMsg } from "nats";
import { type OpenSpan, tracer } from "./tracing.ts";

/** The header with the trace context of an event's producer. */
export const TRACE_HEADER = "traceparent";

/**
 * Opens the span of a batch, linked to the producer of each event: a batch has many causes, and each may be
 * long past. Undefined when no event is traced.
 */
export function openBatchSpan(
  durable: string,
  stream: string,
  messages: readonly JsMsg[],
): OpenSpan | undefined {
  if (tracer === undefined) return undefined;
  const links = messages.flatMap(({ headers }) => headers?.get(TRACE_HEADER) || []);
  if (links.length === 0) return undefined;
  return tracer.start(`process ${durable}`, {
    kind: "consumer",
    links,
    attributes: {
      "messaging.system.name": "nats",
      "messaging.operation.name": "process",
      "messaging.operation.type": "process",
      "messaging.destination.name": stream,
      "messaging.consumer.group.name": durable,
      "messaging.batch.message_count": messages.length,
    },
  });
}
