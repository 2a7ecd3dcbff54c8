/** The use cases on quiet hours. */
import type { Clock } from "../../shared/core/clock.ts";
import { AppError } from "../../shared/core/errors.ts";
import { invalidField } from "../../shared/core/limits.ts";
import { checkQuietRule, type QuietRule } from "../../shared/core/quiet-hours.ts";
import { mergeQuietRules, quietRuleName } from "../domain/quiet-hours.ts";
import type { RouteTableNotifier, RoutingStore } from "./ports.ts";

export type QuietHoursService = ReturnType<typeof createQuietHoursService>;

/** The maximum number of stored rules; every answer with the route table contains all of them. */
const RULES_MAX = 500;

export function createQuietHoursService({
  store,
  ofSetting,
  clock,
  notifier,
}: {
  readonly store: Pick<RoutingStore, "change" | "listQuietRules">;
  readonly ofSetting: readonly QuietRule[];
  readonly clock: Clock;
  readonly notifier: RouteTableNotifier;
}) {
  return {
    list: async () => mergeQuietRules(ofSetting, await store.listQuietRules()),

    /** Throws `validation_error`. */
    async set(rule: QuietRule): Promise<QuietRule> {
      checkQuietRule(rule);
      await store.change(async (tx) => {
        const stored = await tx.listQuietRules();
        const isNew = stored.every((one) => quietRuleName(one) !== quietRuleName(rule));
        if (isNew && stored.length >= RULES_MAX) {
          throw invalidField("quiet_hours", "too_many", `there are ${RULES_MAX} already`);
        }
        await tx.saveQuietRule({ ...rule, updatedAtMs: clock.now() });
      });
      notifier.notifyChanged();
      return rule;
    },

    /** Returns the removed rule. Throws `not_found`. */
    async remove(named: Pick<QuietRule, "country" | "trafficClass">): Promise<QuietRule> {
      const removed = await store.change(async (tx) => {
        const rules = mergeQuietRules(ofSetting, await tx.listQuietRules());
        const rule = rules.find((one) => quietRuleName(one) === quietRuleName(named));
        if (rule === undefined) throw new AppError("not_found", "There are no such quiet hours.");
        await tx.saveQuietRule({ ...rule, windows: [], updatedAtMs: clock.now() });
        return rule;
      });
      notifier.notifyChanged();
      return removed;
    },
  };
}
