import { type Config, oneOf, ratio, readConfig, type Schema, whole } from "./config.ts";

/**
 * Trace settings that OpenTelemetry's specification defines and its SDK does not read itself. Durations are in
 * milliseconds. The exporter reads its endpoint and options from `OTEL_EXPORTER_OTLP_*` itself.
 */
const TRACING_SETTINGS = {
  OTEL_TRACES_SAMPLER: oneOf(
    [
      "always_on",
      "always_off",
      "traceidratio",
      "parentbased_always_on",
      "parentbased_always_off",
      "parentbased_traceidratio",
    ],
    "parentbased_always_on",
  ),
  /** The ratio of traces that the `traceidratio` samplers record. */
  OTEL_TRACES_SAMPLER_ARG: ratio(1),
  OTEL_BSP_MAX_QUEUE_SIZE: whole(1, 1_000_000, 2048),
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: whole(1, 100_000, 512),
  OTEL_BSP_SCHEDULE_DELAY: whole(1, 600_000, 5000),
  OTEL_BSP_EXPORT_TIMEOUT: whole(1, 600_000, 30_000),
} as const satisfies Schema;

/** The settings of the tracer. */
export type TracingConfig = Config<typeof TRACING_SETTINGS>;

/** Reads the settings; undefined when traces are off. */
export function readTracingConfig(env: NodeJS.ProcessEnv): TracingConfig | undefined {
  const endpoint = env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || env.OTEL_EXPORTER_OTLP_ENDPOINT;
  if (!endpoint || env.OTEL_TRACES_EXPORTER === "none") return undefined;
  if (env.OTEL_SDK_DISABLED?.toLowerCase() === "true") return undefined;
  return readConfig(env, TRACING_SETTINGS);
}
