/**
 * The tracer on OpenTelemetry's SDK: spans wait in a bounded queue (what comes beyond is dropped),
 * go out in batches over OTLP (HTTP, protobuf), and an endpoint that is away costs a log line a
 * minute and nothing else. Only imported when an endpoint is set.
 *
 * The exporter reads `OTEL_EXPORTER_OTLP_*` by itself: endpoint, headers, timeout, compression,
 * certificates. What the SDK leaves to its user is read in `tracing-settings.ts`.
 */
import { hostname } from "node:os";
import {
  type Attributes,
  type Context,
  DiagLogLevel,
  diag,
  isSpanContextValid,
  type Link,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from "@opentelemetry/resources";
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import type { Logger } from "../core/logger.ts";
import { answerWithin } from "../flow/backoff.ts";
import type { OpenSpan, SpanAttributes, Tracer } from "./tracing.ts";
import type { TracingConfig } from "./tracing-settings.ts";

const SCOPE = "sms";
const CLOSE_MAX_MS = 3000;
const WARN_EVERY_MS = 60_000;
/** A batch's span links at most so many of its messages. */
const LINKS_MAX = 128;
const VALUE_LENGTH_MAX = 256;

const KINDS = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
} as const;

/** Opens the tracer of a process; `service` names it unless `OTEL_SERVICE_NAME` does. */
export function openTracer(options: {
  readonly service: string;
  readonly config: TracingConfig;
  readonly log: Logger;
}): Tracer {
  const { service, config, log } = options;
  reportTo(log);
  const resource = defaultResource()
    .merge(
      resourceFromAttributes({
        "service.name": `sms-${service}`,
        "service.instance.id": `${hostname()}-${process.pid}`,
      }),
    )
    .merge(detectResources({ detectors: [envDetector] }));
  const processor = new BatchSpanProcessor({
    exporter: new OTLPTraceExporter(),
    maxQueueSize: config.OTEL_BSP_MAX_QUEUE_SIZE,
    maxExportBatchSize: Math.min(
      config.OTEL_BSP_MAX_EXPORT_BATCH_SIZE,
      config.OTEL_BSP_MAX_QUEUE_SIZE,
    ),
    scheduledDelayMillis: config.OTEL_BSP_SCHEDULE_DELAY,
    exportTimeoutMillis: config.OTEL_BSP_EXPORT_TIMEOUT,
  });
  const samplers = samplersFor(config);
  const tracerWith = (sampler: Sampler) =>
    new TracerProvider({
      resource,
      sampler,
      spanProcessors: [processor],
      spanLimits: { linkCountLimit: LINKS_MAX, attributeValueLengthLimit: VALUE_LENGTH_MAX },
    }).getTracer(SCOPE);
  const inner = tracerWith(samplers.inner);
  const edge = tracerWith(samplers.edge);

  return {
    start(name, { kind, parent, links = [], attributes = {}, isEdge = false }) {
      const span = (isEdge ? edge : inner).startSpan(
        name,
        { kind: KINDS[kind], attributes: defined(attributes), links: links.flatMap(toLink) },
        contextOf(parent),
      );
      return openSpan(span);
    },
    async close() {
      await answerWithin(
        processor.shutdown().catch(() => undefined),
        CLOSE_MAX_MS,
      );
    },
  };
}

/**
 * At the edge the root sampler alone decides: a customer may name a trace, but neither fill our
 * store with it nor hide from it.
 */
function samplersFor(config: TracingConfig): { readonly inner: Sampler; readonly edge: Sampler } {
  const [, parentBased, kind] =
    /^(parentbased_)?(always_on|always_off|traceidratio)$/.exec(config.OTEL_TRACES_SAMPLER) ?? [];
  let root: Sampler = new AlwaysOnSampler();
  if (kind === "always_off") root = new AlwaysOffSampler();
  if (kind === "traceidratio") root = new TraceIdRatioBasedSampler(config.OTEL_TRACES_SAMPLER_ARG);
  const inner = parentBased === undefined ? root : new ParentBasedSampler({ root });
  return { inner, edge: root };
}

function openSpan(span: Span): OpenSpan {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return {
    traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`,
    set(attributes, name) {
      span.setAttributes(defined(attributes));
      if (name !== undefined) span.updateName(name);
    },
    end(failure) {
      if (failure !== undefined) {
        span.setAttribute("error.type", failure);
        span.setStatus({ code: SpanStatusCode.ERROR });
      }
      span.end();
    },
  };
}

function defined(attributes: SpanAttributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined));
}

function contextOf(traceparent: string | undefined): Context {
  const parent = spanContextOf(traceparent);
  return parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent);
}

function toLink(traceparent: string): Link[] {
  const context = spanContextOf(traceparent);
  return context === undefined ? [] : [{ context }];
}

function spanContextOf(traceparent: string | undefined): SpanContext | undefined {
  const [, traceId, spanId, flags] = traceparent?.split("-") ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  const context = { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true };
  return isSpanContextValid(context) ? context : undefined;
}

/** The SDK speaks of every batch that fails; we hear of it once a minute. */
function reportTo(log: Logger): void {
  let spokeMs = Number.NEGATIVE_INFINITY;
  const speak = (text: string): void => {
    const nowMs = performance.now();
    if (nowMs - spokeMs < WARN_EVERY_MS) return;
    spokeMs = nowMs;
    log.warn({ detail: text.slice(0, 500) }, "traces are not getting through");
  };
  const silent = (): void => {};
  diag.setLogger(
    { error: speak, warn: speak, info: silent, debug: silent, verbose: silent },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
}
