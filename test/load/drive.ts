/**
 * Two ways to drive a service. Open: requests start at their intended instants, however slow the
 * service is, and latency counts from the intended start, so a stall is not hidden by requests
 * that were never made. Closed: a fixed number of callers, each waiting for its answer; it finds
 * the highest throughput.
 */
import { build, type Histogram } from "hdr-histogram-js";

/** One unit of work of a caller, due at `dueMs`; returns whether it succeeded. */
export type Work = (caller: number, dueMs: number) => Promise<boolean>;

/** The result of a run; latencies in milliseconds, meaningless when nothing succeeded. */
export type Measured = {
  readonly succeeded: number;
  readonly failed: number;
  readonly seconds: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p90Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
};

/** Runs `callers` at once for `warmupMs` unmeasured, then `measureMs` measured. */
export async function driveClosed(options: {
  readonly callers: number;
  readonly warmupMs: number;
  readonly measureMs: number;
  readonly work: Work;
}): Promise<Measured> {
  const { callers, warmupMs, measureMs, work } = options;
  const tally = createTally();
  const fromMs = performance.now() + warmupMs;
  const untilMs = fromMs + measureMs;
  await Promise.all(
    Array.from({ length: callers }, async (_, caller) => {
      for (let startMs = performance.now(); startMs < untilMs; startMs = performance.now()) {
        const isGood = await work(caller, startMs).catch(() => false);
        const endMs = performance.now();
        // One that is answered after the end adds nothing to the rate; that it failed, or how late it was, counts.
        if (endMs >= fromMs) tally.add(isGood, endMs - startMs, endMs < untilMs);
      }
    }),
  );
  return tally.result(measureMs / 1000);
}

/** Starts `perSecond` requests a second over `callers` connections, evenly spaced. */
export async function driveOpen(options: {
  readonly callers: number;
  readonly perSecond: number;
  readonly warmupMs: number;
  readonly measureMs: number;
  readonly work: Work;
}): Promise<Measured> {
  const { callers, perSecond, warmupMs, measureMs, work } = options;
  const tally = createTally();
  const beganMs = performance.now();
  const total = Math.round((perSecond * (warmupMs + measureMs)) / 1000);
  let next = 0;
  await Promise.all(
    Array.from({ length: callers }, async (_, caller) => {
      while (next < total) {
        const intendedMs = beganMs + (next * 1000) / perSecond;
        next += 1;
        const earlyMs = intendedMs - performance.now();
        if (earlyMs > 0) await new Promise((resolve) => setTimeout(resolve, earlyMs));
        const isGood = await work(caller, intendedMs).catch(() => false);
        if (intendedMs >= beganMs + warmupMs) tally.add(isGood, performance.now() - intendedMs);
      }
    }),
  );
  return tally.result(measureMs / 1000);
}

/** Collects latencies in milliseconds and returns percentiles; 100 is the maximum. */
export function latenciesOf() {
  const latencies: Histogram = build({ highestTrackableValue: 120_000_000 });
  return {
    count: () => latencies.totalCount,
    add: (latencyMs: number) => latencies.recordValue(Math.max(1, Math.round(latencyMs * 1000))),
    at: (percentile: number) =>
      (percentile >= 100 ? latencies.maxValue : latencies.getValueAtPercentile(percentile)) / 1000,
  };
}

function createTally() {
  const latencies = latenciesOf();
  let succeeded = 0;
  let failed = 0;
  return {
    add(isGood: boolean, latencyMs: number, isInTime = true) {
      if (!isGood) failed += 1;
      else if (isInTime) succeeded += 1;
      latencies.add(latencyMs);
    },
    result: (seconds: number): Measured => ({
      succeeded,
      failed,
      seconds,
      perSecond: succeeded / seconds,
      p50Ms: latencies.at(50),
      p90Ms: latencies.at(90),
      p99Ms: latencies.at(99),
      maxMs: latencies.at(100),
    }),
  };
}
