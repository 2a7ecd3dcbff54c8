import type { Clock } from "../../shared/core/clock.ts";
import { AppError, type FieldError } from "../../shared/core/errors.ts";
import { USAGE_STEP_MS } from "../domain/usage.ts";
import type { UsageQuery, UsageResult, UsageStore } from "./ports.ts";

/** Counts of a tenant's messages, by groups. */
export type Usage = {
  /** Throws `validation_error`. */
  query(query: Omit<UsageQuery, "nowMs">): Promise<UsageResult>;
  /** Brings the counts up to date; returns whether more waits. */
  fold(): Promise<boolean>;
};

/** The longest range of one query: 92 days, the length of three long months (`docs/contract.md#usage`). */
const SPAN_MAX_MS = 92 * 86_400_000;

export function createUsage(store: UsageStore, clock: Clock): Usage {
  return {
    async query(query) {
      const { fromMs, toMs } = query;
      const fields: FieldError[] = [];
      const add = (field: string, code: string, message: string) =>
        void fields.push({ field, code, message });
      for (const [field, ms] of Object.entries({ from_ms: fromMs, to_ms: toMs })) {
        if (ms % USAGE_STEP_MS !== 0) add(field, "invalid_value", "It is no whole quarter hour.");
      }
      if (toMs < fromMs) add("to_ms", "out_of_range", "It lies before the start.");
      if (toMs - fromMs > SPAN_MAX_MS) add("to_ms", "range_too_large", "At most 92 days.");
      if (fields.length > 0) {
        throw new AppError("validation_error", "The range is not valid.", { fields });
      }
      return store.query({ ...query, nowMs: clock.now() });
    },
    async fold() {
      try {
        return await store.fold();
      } catch (error) {
        // Another replica adds the same changes now.
        if (error instanceof AppError && error.code === "conflict") return false;
        throw error;
      }
    },
  };
}
