import { collectGarbage } from "../vendor/v8-collect-garbage.ts";

/** How often the load of the process is sampled after its start, in milliseconds. */
const SAMPLE_MS = 1000;

/**
 * A process whose thread computed for less than this share of a sample is idle. A few requests a second keep it above
 * that, and one of them would wait for the collection. Each further service in the process has its own timers.
 */
const IDLE_SHARE = 0.02;
const IDLE_SHARE_FURTHER = 0.01;

/** On a slow machine an idle process exceeds `IDLE_SHARE`: 15 samples in a row below this share count as idle too. */
const QUIET_SHARE = 0.06;
const QUIET_SAMPLES = 15;

/** After this many samples give up for now: a process that is never idle collects garbage as it allocates. */
const SAMPLES_MAX = 60;

/** The pause in sampling after a collection, or after `SAMPLES_MAX` samples without one. */
const PAUSE_MS = 600_000;

/**
 * Collects garbage in the first idle second after the start, and every ten minutes in an idle second. Sources, parse
 * results and schema compilation grow the heap to two or three times of its later size; timers and polls of an idle
 * process grow V8's new space by 25 MB within minutes. V8 returns that memory only with a full collection, which an
 * idle process never triggers. A collection takes about 100 ms, so it waits until a backlog from the start is done.
 */
export function releaseIdleMemory(services: number): void {
  const idleShare = IDLE_SHARE + (services - 1) * IDLE_SHARE_FURTHER;
  let before = computedMs();
  let samples = 0;
  let quietSamples = 0;
  const timer = setInterval(() => {
    const now = computedMs();
    const share = (now - before) / SAMPLE_MS;
    before = now;
    samples += 1;
    quietSamples = share < QUIET_SHARE ? quietSamples + 1 : 0;
    const isIdle = share < idleShare || quietSamples === QUIET_SAMPLES;
    if (!isIdle && samples < SAMPLES_MAX) return;
    clearInterval(timer);
    if (isIdle) collectGarbage();
    setTimeout(releaseIdleMemory, PAUSE_MS, services).unref();
  }, SAMPLE_MS);
  timer.unref();
}

/** Time for which this thread has computed. Time in which others had the processor does not count. */
function computedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
