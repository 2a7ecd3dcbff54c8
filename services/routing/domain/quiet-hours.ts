import type { QuietRule } from "../../shared/core/quiet-hours.ts";

/** Quiet hours that operators have set. Without windows they count as removed, and override the setting's. */
export type StoredQuietRule = QuietRule & { readonly updatedAtMs: number };

/** The unique name of the quiet hours of a country and class. */
export function quietRuleName({
  country,
  trafficClass,
}: Pick<QuietRule, "country" | "trafficClass">): string {
  return `${country}|${trafficClass}`;
}

/** The quiet hours in force, in order of name: those of the setting, unless operators have set or removed them. */
export function mergeQuietRules(
  ofSetting: readonly QuietRule[],
  stored: readonly QuietRule[],
): QuietRule[] {
  const rules = new Map([...ofSetting, ...stored].map((rule) => [quietRuleName(rule), rule]));
  return [...rules]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([, rule]) => (rule.windows.length === 0 ? [] : [rule]));
}
