/**
 * Access to the tracer. Without an OTLP endpoint `tracer` is undefined, and every call site says
 * `tracer?.start(…)`: its arguments are then not evaluated and no OpenTelemetry package is loaded. The tracer
 * itself is in `tracer.ts`.
 *
 * Contexts are W3C `traceparent` texts in the call context, in stored fields and in headers, so nothing here
 * depends on a tracing library. Attributes never hold a body, a full number or a key.
 */

/** Attribute values by name; undefined ones are left out. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** The relation of a span to others. */
export type SpanOptions = {
  readonly kind: "internal" | "server" | "client" | "producer" | "consumer";
  /** The `traceparent` of a recent cause. */
  readonly parent?: string | undefined;
  /** `traceparent` texts of further causes, or of a cause long ago. */
  readonly links?: readonly string[];
  readonly attributes?: SpanAttributes;
  /** The parent is from outside: it sets the trace id, but does not decide about sampling. */
  readonly isEdge?: boolean;
};

/** A span in progress. */
export type OpenSpan = {
  /** The context for calls made within the span. */
  readonly traceparent: string;
  /** Sets attributes and optionally a new name. */
  set(attributes: SpanAttributes, name?: string): void;
  /** Ends the span; `failure` is a low-cardinality error name. */
  end(failure?: string): void;
};

/** Starts spans. */
export type Tracer = {
  start(name: string, options: SpanOptions): OpenSpan;
  /** Exports the waiting spans; waits a few seconds at most. */
  close(): Promise<void>;
};

/** The process's tracer; undefined when traces are off. */
export let tracer: Tracer | undefined;

/** Turns traces on, or off with undefined; for the composition root and tests. */
export function useTracer(next: Tracer | undefined): void {
  tracer = next;
}

/**
 * The `traceparent` when it is sampled, else undefined; only sampled ones are stored with queued work.
 */
export function recordedTrace(traceparent: string | undefined): string | undefined {
  if (tracer === undefined || traceparent === undefined) return undefined;
  // The lowest bit of the last field means "sampled" (W3C Trace Context section 3.2.2.5.1).
  return (Number.parseInt(traceparent.slice(-2), 16) & 1) === 1 ? traceparent : undefined;
}

/**
 * Work that starts later than this after its cause is linked to it: the cause's trace is long complete.
 */
const FOLLOW_MAX_MS = 600_000;

/** The relation of queued work to its cause `ageMs` ago. */
export function following(
  traceparent: string,
  ageMs: number,
): Pick<SpanOptions, "parent" | "links"> {
  return ageMs <= FOLLOW_MAX_MS ? { parent: traceparent } : { links: [traceparent] };
}

/** The trace fields of a log line. */
export function traceFields(traceparent: string | undefined): Record<string, string> {
  const recorded = recordedTrace(traceparent);
  if (recorded === undefined) return {};
  const [, traceId = "", spanId = ""] = recorded.split("-");
  return { trace_id: traceId, span_id: spanId };
}
