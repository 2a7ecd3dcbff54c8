import type { Clock } from "../../shared/core/clock.ts";
import { newId } from "../../shared/core/ids.ts";
import { invalidField } from "../../shared/core/limits.ts";

/** One breach of an invariant, by its number in docs/invariants.md. */
export type CheckBreach = {
  readonly invariant: number;
  readonly what: string;
  readonly ids: readonly string[];
};

/** The result of one run of `smsctl check`. */
export type CheckResult = {
  readonly id: string;
  /** Empty for a check of all tenants. */
  readonly tenantId: string;
  readonly person: string;
  readonly startedAtMs: number;
  readonly finishedAtMs: number;
  readonly isOk: boolean;
  readonly breaches: readonly CheckBreach[];
  /** The number of breaches beyond those listed. */
  readonly unlisted: number;
  readonly unfinished: readonly string[];
  /** How many items were compared, by kind. */
  readonly compared: Readonly<Record<string, number>>;
};

/** The storage of results, which are kept for 90 days. */
export type CheckStore = {
  insert(result: CheckResult): Promise<void>;
  /** Newest first. */
  list(limit: number): Promise<readonly CheckResult[]>;
};

/** The most that a result keeps of each list and text; the command that ran the check printed all of it. */
const BREACHES_MAX = 100;
const IDS_MAX = 20;
const TEXT_MAX = 1000;
const KINDS_MAX = 100;

/** The use cases of check results. */
export type CheckService = ReturnType<typeof createCheckService>;

export function createCheckService(store: CheckStore, clock: Clock) {
  return {
    /** Stores a result with its first breaches. Errors: `validation_error`. */
    async record(run: Omit<CheckResult, "id" | "finishedAtMs">): Promise<CheckResult> {
      const finishedAtMs = clock.now();
      if (run.startedAtMs <= 0 || run.startedAtMs > finishedAtMs + 3_600_000) {
        throw invalidField("started_at_ms", "out_of_range", "must be the instant of the start");
      }
      const listed = run.breaches.slice(0, BREACHES_MAX);
      const result = {
        ...run,
        id: newId("check", finishedAtMs),
        finishedAtMs,
        breaches: listed.map(({ invariant, what, ids }) => ({
          invariant,
          what: what.slice(0, TEXT_MAX),
          ids: ids.slice(0, IDS_MAX),
        })),
        unlisted: run.unlisted + run.breaches.length - listed.length,
        unfinished: run.unfinished.slice(0, BREACHES_MAX).map((one) => one.slice(0, TEXT_MAX)),
        compared: Object.fromEntries(Object.entries(run.compared).slice(0, KINDS_MAX)),
      };
      await store.insert(result);
      return result;
    },

    /** The newest results, at most 100. */
    list: (limit: number): Promise<readonly CheckResult[]> => store.list(Math.min(limit, 100)),
  };
}
