/** The suppressions of a tenant: list, add, remove, and the snapshots that messaging caches. */
import type { Clock } from "../../shared/core/clock.ts";
import { AppError } from "../../shared/core/errors.ts";
import { RECIPIENT_CHARS_MAX } from "../../shared/core/limits.ts";
import { normaliseNumber } from "../../shared/core/phone.ts";
import { createRowFaults, isFault, type RowFault } from "../../shared/core/row-faults.ts";
import { type Consent, type SuppressionSource, suppressionFault } from "../domain/suppression.ts";
import type { ConsentInvalidation, ConsentStore, SuppressionFilter } from "./ports.ts";

/** A suppression as its customer wrote it. */
export type SubmittedSuppression = {
  readonly line: number;
  readonly number: string;
  readonly sender: string;
  readonly reason: string;
};

export type Suppressions = ReturnType<typeof createSuppressions>;

/** The largest snapshot; for a tenant with more, messaging calls `CheckSuppressions`. */
const TABLE_MAX = 100_000;
const STEP = 500;

export function createSuppressions(parts: {
  readonly store: ConsentStore;
  readonly invalidation: ConsentInvalidation;
  readonly clock: Clock;
}) {
  const { store, invalidation, clock } = parts;
  return {
    list: (filter: SuppressionFilter) => store.list(filter),

    /** Adds each row that passes. Not atomic: a repeat adds the rest. */
    async add(
      tenantId: string,
      source: SuppressionSource,
      rows: AsyncIterable<SubmittedSuppression | RowFault>,
    ) {
      const counts = { added: 0, unchanged: 0 };
      const faults = createRowFaults();
      let step: Consent[] = [];
      const flush = async () => {
        if (step.length === 0) return;
        const added = await store.save(step);
        counts.added += added;
        counts.unchanged += step.length - added;
        step = [];
      };
      try {
        for await (const row of rows) {
          const checked = isFault(row) ? row : check(tenantId, source, row, clock.now());
          if (isFault(checked)) faults.add(checked);
          else if (step.push(checked) === STEP) await flush();
        }
        await flush();
      } finally {
        // Invalidate after an error too: the rows stored before it stay.
        if (counts.added > 0) invalidation.changed(tenantId);
      }
      return { ...counts, ...faults.result() };
    },

    /** Errors: `not_found`. */
    async remove(tenantId: string, number: string, sender: string): Promise<void> {
      const e164 = normaliseNumber(number);
      const consent: Consent = {
        tenantId,
        number: e164 ?? "",
        sender: sender.toLowerCase(),
        isOut: false,
        source: "api",
        reason: "",
        atMs: clock.now(),
      };
      if (e164 === undefined || (await store.save([consent])) === 0) {
        throw new AppError("not_found", "There is no such suppression.");
      }
      invalidation.changed(tenantId);
    },

    /** Every suppressed number; undefined when there are too many for a snapshot. */
    async table(tenantId: string, knownVersion: number) {
      // The version is read first: a change in between is in the table, and is read again.
      const version = await store.version(tenantId);
      if (version === knownVersion) return { version, isUnchanged: true, numbers: [] };
      const numbers = version === 0 ? [] : await store.table(tenantId, TABLE_MAX + 1);
      const isLarge = numbers.length > TABLE_MAX;
      return { version, isUnchanged: false, numbers: isLarge ? undefined : numbers };
    },

    check: (tenantId: string, sender: string, numbers: readonly string[]) =>
      store.check(tenantId, sender.toLowerCase(), numbers),
  };
}

function check(
  tenantId: string,
  source: SuppressionSource,
  row: SubmittedSuppression,
  nowMs: number,
): Consent | RowFault {
  const { line, number, sender, reason } = row;
  const e164 = number.length > RECIPIENT_CHARS_MAX ? undefined : normaliseNumber(number.trim());
  if (e164 === undefined) {
    return { line, field: "number", code: "invalid_recipient", message: "This is not a number." };
  }
  const fault = suppressionFault(row);
  if (fault !== undefined) return { line, ...fault };
  return {
    ...{ tenantId, number: e164, sender: sender.toLowerCase(), isOut: true },
    ...{ source, reason, atMs: nowMs },
  };
}
