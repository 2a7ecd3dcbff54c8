/**
 * Spans of calls between processes, by OpenTelemetry's conventions for RPC. Only calls within a trace get one:
 * polls, sweeps and probes would only create traces of their own.
 */
import { type OpenSpan, tracer } from "../io/tracing.ts";

/** Opens the span of an outgoing call; undefined outside a trace or with traces off. */
export function openClientSpan(
  method: string,
  traceparent: string | undefined,
): OpenSpan | undefined {
  if (tracer === undefined || traceparent === undefined) return undefined;
  return tracer.start(method, { kind: "client", parent: traceparent, attributes: named(method) });
}

/** Opens the span of an incoming call; undefined in the same cases. */
export function openServerSpan(
  method: string,
  traceparent: string | undefined,
): OpenSpan | undefined {
  if (tracer === undefined || traceparent === undefined) return undefined;
  return tracer.start(method, { kind: "server", parent: traceparent, attributes: named(method) });
}

/** Statuses that are faults of the server (the conventions for gRPC). */
const FAULTS: ReadonlySet<string> = new Set([
  "UNKNOWN",
  "DEADLINE_EXCEEDED",
  "UNIMPLEMENTED",
  "INTERNAL",
  "UNAVAILABLE",
  "DATA_LOSS",
]);

/** Ends a call's span with its gRPC status name; for a client every status but OK is a failure. */
export function endCallSpan(
  span: OpenSpan | undefined,
  status: string,
  side: "client" | "server",
): void {
  if (span === undefined) return;
  span.set({ "rpc.response.status_code": status });
  const isFailure = side === "client" ? status !== "OK" : FAULTS.has(status);
  span.end(isFailure ? status : undefined);
}

function named(method: string) {
  return { "rpc.system.name": "grpc", "rpc.method": method };
}
