/** The latency of answers in milliseconds: constant, uniform, or log-normal. */
export type Latency = number | { min: number; max: number } | { p50: number; p99: number };

/** A source of numbers from 0 up to 1. */
export type Random = () => number;

/** The standard normal deviate that 99 of 100 values stay below. */
const Z99 = 2.3263478740408408;
const LONGEST_MS = 600_000;

/** Draws one latency in milliseconds. */
export function sampleLatency(latency: Latency, random: Random): number {
  if (typeof latency === "number") return latency;
  if ("min" in latency) return latency.min + random() * (latency.max - latency.min);
  const sigma = Math.log(latency.p99 / latency.p50) / Z99;
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  return Math.min(LONGEST_MS, latency.p50 * Math.exp(sigma * normal));
}

/** A random generator with a seed (mulberry32). */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
