import type { Options } from "../../../services/shared/cli/options.ts";
import { AppError } from "../../../services/shared/core/errors.ts";

/** The words of a list option, each one of those that there are; undefined when the option is absent. */
export function readWords<Word extends string>(
  options: Options,
  name: string,
  known: readonly Word[],
): Word[] | undefined {
  if (options.optional(name) === undefined) return undefined;
  return options.list(name).map((given) => {
    const found = known.find((one) => one === given);
    if (found !== undefined) return found;
    throw new AppError("validation_error", `--${name} must be one of ${known.join(", ")}.`);
  });
}

/** One such word. */
export function readWord<Word extends string>(
  options: Options,
  name: string,
  known: readonly Word[],
): Word | undefined {
  const words = readWords(options, name, known);
  if (words === undefined || words.length === 1) return words?.[0];
  throw new AppError("validation_error", `--${name} takes one of ${known.join(", ")}.`);
}

/** An instant as the API takes it. */
export function toInstant(atMs: number | undefined): string | undefined {
  return atMs === undefined ? undefined : new Date(atMs).toISOString();
}
