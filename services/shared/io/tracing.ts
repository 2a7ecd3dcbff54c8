/**
 * Where spans are made, if at all. Without an OTLP endpoint `tracer` stays undefined: each place
 * that makes a span says `tracer?.start(…)`, whose arguments are then not even evaluated, and no
 * package of OpenTelemetry is loaded. The tracer itself is in `tracer.ts`.
 *
 * Contexts travel as W3C `traceparent` texts, in the call context, in columns and in headers, so
 * that nothing here depends on who made them. Attributes never hold a body, a full number or a key.
 */

/** Attribute values by name; undefined ones are left out. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** How a span stands to others. */
export type SpanOptions = {
  readonly kind: "internal" | "server" | "client" | "producer" | "consumer";
  /** The `traceparent` of what caused it, at most a while ago. */
  readonly parent?: string | undefined;
  /** `traceparent` texts of what else caused it, or caused it long ago. */
  readonly links?: readonly string[];
  readonly attributes?: SpanAttributes;
  /** The parent is a stranger's: it gives the trace its id, but does not decide what we record. */
  readonly isEdge?: boolean;
};

/** A span under way. */
export type OpenSpan = {
  /** What calls made on its behalf carry. */
  readonly traceparent: string;
  /** Sets attributes and, where given, a better name. */
  set(attributes: SpanAttributes, name?: string): void;
  /** Ends it; `failure` is a low-cardinality name of what went wrong. */
  end(failure?: string): void;
};

/** Makes spans. */
export type Tracer = {
  start(name: string, options: SpanOptions): OpenSpan;
  /** Sends what waits, for a few seconds at most. */
  close(): Promise<void>;
};

/** The process's tracer; undefined when traces are off. */
export let tracer: Tracer | undefined;

/** Turns traces on, or with undefined off; for the composition root and for tests. */
export function useTracer(next: Tracer | undefined): void {
  tracer = next;
}

/** A `traceparent` that is recorded, or undefined: what is worth keeping beside stored work. */
export function recordedTrace(traceparent: string | undefined): string | undefined {
  if (tracer === undefined || traceparent === undefined) return undefined;
  // The lowest bit of the last field says "sampled" (W3C Trace Context section 3.2.2.5.1).
  return (Number.parseInt(traceparent.slice(-2), 16) & 1) === 1 ? traceparent : undefined;
}

/** Work later than this after its cause is linked to it: the cause's trace is long complete. */
const FOLLOW_MAX_MS = 600_000;

/** How work taken from a queue stands to what put it there `ageMs` ago. */
export function following(
  traceparent: string,
  ageMs: number,
): Pick<SpanOptions, "parent" | "links"> {
  return ageMs <= FOLLOW_MAX_MS ? { parent: traceparent } : { links: [traceparent] };
}

/** What a log line says of the trace it belongs to. */
export function traceFields(traceparent: string | undefined): Record<string, string> {
  const recorded = recordedTrace(traceparent);
  if (recorded === undefined) return {};
  const [, traceId = "", spanId = ""] = recorded.split("-");
  return { trace_id: traceId, span_id: spanId };
}
