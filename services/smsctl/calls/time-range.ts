import type { Options } from "../../shared/cli/options.ts";

/** The range of `--since` and `--until` of a list whose service knows none: filters what it answered. */
export function createdWithin(
  options: Options,
): (item: { readonly createdAtMs: bigint }) => boolean {
  const { sinceMs = 0, untilMs = Number.POSITIVE_INFINITY } = options.range("since", "until");
  return ({ createdAtMs }) => createdAtMs >= sinceMs && Number(createdAtMs) < untilMs;
}
