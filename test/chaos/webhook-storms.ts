import type { ChaosOptions } from "./webhook-run.ts";

/** A storm without its seed. */
type StormShape = Omit<ChaosOptions, "seed" | "say">;

/**
 * The full storm: about four minutes. Each event for one of the 50 bad endpoints makes five attempts: 200
 * attempts a second, mostly on new connections, by a process that lives for 3 s and shares two cores with
 * the database and all receivers. At twice that rate nothing is lost, but the schedule slips.
 */
export const LONG_STORM: StormShape = {
  events: 20_000,
  perSecond: 100,
  endpoints: { ok: 130, disabled: 10, hang: 20, fail: 20, reset: 10, drip: 10 },
  killEveryMs: 3000,
  retryDelaysMs: [2000, 4000, 6000, 8000],
  timeoutMs: 2000,
  lateMsMax: 1000,
};

/** A short storm for `make test-slow`: under 20 s. */
export const SHORT_STORM: StormShape = {
  events: 600,
  perSecond: 150,
  endpoints: { ok: 26, disabled: 3, hang: 3, fail: 4, reset: 2, drip: 2 },
  killEveryMs: 3000,
  retryDelaysMs: [400, 600],
  timeoutMs: 800,
  lateMsMax: 1000,
};
