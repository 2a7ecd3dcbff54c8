/** How busy the machine is during a storm, with the storm itself and with everything else. */
import { availableParallelism, loadavg } from "node:os";

const SAMPLE_MS = 10_000;

/** Begins to watch; `end` says how many tasks ran or wanted to, for each core, on average. */
export function watchLoad(): { end(): number } {
  const samples = [sample()];
  const timer = setInterval(() => samples.push(sample()), SAMPLE_MS).unref();
  return {
    end() {
      clearInterval(timer);
      return samples.reduce((sum, one) => sum + one, 0) / samples.length;
    },
  };
}

/** The load of the last minute, for each core. */
function sample(): number {
  return (loadavg()[0] ?? 0) / availableParallelism();
}
