import { monitorEventLoopDelay } from "node:perf_hooks";

/**
 * Measures how long this process was kept from running, in seconds: the longest pause until `end`. Another process of
 * the same machine may have had the like, so a test allows a count for it that is measured by time.
 */
export function watchPauses(): { readonly end: () => number } {
  const resolutionMs = 1;
  const delays = monitorEventLoopDelay({ resolution: resolutionMs });
  delays.enable();
  return {
    end() {
      delays.disable();
      return Math.max(0, delays.max / 1e9 - resolutionMs / 1000);
    },
  };
}
