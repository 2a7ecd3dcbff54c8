import type { Options } from "../../shared/cli/options.ts";

/** A filter by `--since` and `--until`, for lists whose service cannot filter by time. */
export function createdWithin(
  options: Options,
): (item: { readonly createdAtMs: bigint }) => boolean {
  const { sinceMs = 0, untilMs = Number.POSITIVE_INFINITY } = options.range("since", "until");
  return ({ createdAtMs }) => createdAtMs >= sinceMs && Number(createdAtMs) < untilMs;
}
