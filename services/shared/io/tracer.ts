/**
 * The tracer on OpenTelemetry's SDK. Spans wait in a bounded queue (it drops spans when full) and are exported
 * in batches over OTLP (HTTP, protobuf). While the endpoint is away, the only effect is one log line per
 * minute. Imported only when an endpoint is set.
 *
 * The exporter reads `OTEL_EXPORTER_OTLP_*` itself: endpoint, headers, timeout, compression, certificates.
 * `tracing-settings.ts` reads the other settings.
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
/** The most links to messages in the span of a batch. */
const LINKS_MAX = 128;
const VALUE_LENGTH_MAX = 256;

const KINDS = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
} as const;

/** Opens the tracer of a process, named `service` unless `OTEL_SERVICE_NAME` is set. */
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
 * At the edge only the root sampler decides: a customer may choose the trace id, but must not be able to fill
 * our trace store or to hide from it.
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

/** The SDK reports every failed batch; log one report per minute. */
function reportTo(log: Logger): void {
  let lastWarningMs = Number.NEGATIVE_INFINITY;
  const warn = (text: string): void => {
    const nowMs = performance.now();
    if (nowMs - lastWarningMs < WARN_EVERY_MS) return;
    lastWarningMs = nowMs;
    log.warn({ detail: text.slice(0, 500) }, "traces cannot be exported");
  };
  const silent = (): void => {};
  diag.setLogger(
    { error: warn, warn, info: silent, debug: silent, verbose: silent },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
}
