import { performance } from "node:perf_hooks";
import { collectGarbage } from "../vendor/v8-collect-garbage.ts";

/** How often the load of the process is sampled, in milliseconds. */
const SAMPLE_MS = 1000;

/**
 * A process is idle when its event loop had fewer events (input or output that was ready) in a sample. Timers and polls
 * make about 10 a second with one service and 25 with six; each request makes some 8. Processor time would tell less:
 * on a quick machine twenty requests a second take as little as the timers on a slow one.
 */
const IDLE_EVENTS = 20;
const IDLE_EVENTS_FURTHER = 5;

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
  const idleEvents = IDLE_EVENTS + (services - 1) * IDLE_EVENTS_FURTHER;
  let before = loopEvents();
  let samples = 0;
  const timer = setInterval(() => {
    const now = loopEvents();
    const isIdle = now - before < idleEvents;
    before = now;
    samples += 1;
    if (!isIdle && samples < SAMPLES_MAX) return;
    clearInterval(timer);
    if (isIdle) collectGarbage();
    setTimeout(releaseIdleMemory, PAUSE_MS, services).unref();
  }, SAMPLE_MS);
  timer.unref();
}

/** Events that the process's event loop has handled since its start (libuv's metrics). */
function loopEvents(): number {
  return performance.nodeTiming.uvMetricsInfo.events;
}
