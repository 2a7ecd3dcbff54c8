import { collectDefaultMetrics, Registry } from "prom-client";

export { Counter, Gauge, Histogram, type Registry } from "prom-client";

/** Gauges of prom-client to remove: they are named like counters, and other metrics have the same figures by type. */
const MISNAMED = ["handles", "requests", "resources"].map((what) => `nodejs_active_${what}_total`);

/**
 * The resolution of `nodejs_eventloop_lag_*`, and their lowest value. The default of 10 ms wakes an idle process a
 * hundred times a second.
 */
const LOOP_LAG_RESOLUTION_MS = 50;

/** Creates a process's metrics registry with Node's own metrics. */
export function createMetrics(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({
    register: registry,
    eventLoopMonitoringPrecision: LOOP_LAG_RESOLUTION_MS,
  });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
  return registry;
}

/** Bucket bounds for durations in seconds, from one millisecond to ten seconds. */
export const DURATION_BUCKETS_S = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];
