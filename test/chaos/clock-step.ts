/**
 * Preloaded into a service (`node --import`): shifts its wall clock by the milliseconds in the file
 * CHAOS_CLOCK_FILE, without touching the machine's clock. The monotonic clock keeps running, as when a
 * real clock is stepped.
 */
import { readFileSync } from "node:fs";

const READ_EVERY_MS = 200;

const RealDate = Date;
const file = process.env.CHAOS_CLOCK_FILE ?? "";
let stepMs = 0;

function readStep(): void {
  try {
    stepMs = Number(readFileSync(file, "utf8")) || 0;
  } catch {
    stepMs = 0;
  }
}

class SteppedDate extends RealDate {
  constructor(...given: unknown[]) {
    if (given.length === 0) super(RealDate.now() + stepMs);
    else super(...(given as [number]));
  }

  static override now(): number {
    return RealDate.now() + stepMs;
  }

  // Dates that Node itself creates must be instances, too.
  static override [Symbol.hasInstance](value: unknown): boolean {
    return Object.prototype.toString.call(value) === "[object Date]";
  }
}

if (file !== "") {
  readStep();
  setInterval(readStep, READ_EVERY_MS).unref();
  globalThis.Date = SteppedDate as DateConstructor;
}
