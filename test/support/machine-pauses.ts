import { monitorEventLoopDelay } from "node:perf_hooks";

/**
 * Measures the longest pause of this process until `end`, in seconds. Other processes of the machine may pause as long,
 * so a test of a rate allows for the events of such a pause.
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
