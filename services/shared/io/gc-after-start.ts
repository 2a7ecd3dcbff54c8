import { performance } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** How often a process that has started is looked at, in milliseconds. */
const LOOK_EVERY_MS = 1000;

/**
 * A process that was busy for less than this share of the time between two looks is idle: a few requests a
 * second keep it above that, and one of them would wait out the collection. Each further service in
 * it looks after things of its own.
 */
const IDLE_SHARE = 0.02;
const IDLE_SHARE_FURTHER = 0.01;

/**
 * On a slow machine looking after things takes more than that. What is quiet for so many looks has
 * little to do, and may have no better second.
 */
const QUIET_SHARE = 0.06;
const QUIET_LOOKS = 15;

/** One that is never idle collects by itself. */
const LOOKS_MAX = 60;

/**
 * Gives back what only starting needed: sources, parse results and schemas being compiled grow the
 * heap to two or three times of what stays, and V8 keeps that room until something makes it
 * collect, which in an idle process nothing does. It takes about a tenth of a second, so it is done
 * once, in the first second without work: a process that has a backlog at its start, because
 * the one before it was killed, goes about that first. The young generation grows again as soon as
 * work comes.
 */
export function releaseStartUpMemory(services: number): void {
  const idleShare = IDLE_SHARE + (services - 1) * IDLE_SHARE_FURTHER;
  let before = performance.eventLoopUtilization();
  let looks = 0;
  let quietLooks = 0;
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    looks += 1;
    quietLooks = utilization < QUIET_SHARE ? quietLooks + 1 : 0;
    const isIdle = utilization < idleShare || quietLooks === QUIET_LOOKS;
    if (isIdle || looks === LOOKS_MAX) clearInterval(timer);
    if (isIdle) collect();
  }, LOOK_EVERY_MS);
  timer.unref();
}

function collect(): void {
  // The flag is on only while the function is made: compiled code is kept under the flags' hash.
  setFlagsFromString("--expose-gc");
  const run = runInNewContext("gc") as NonNullable<typeof globalThis.gc>;
  setFlagsFromString("--no-expose-gc");
  run({ type: "major", execution: "sync", flavor: "last-resort" });
}
