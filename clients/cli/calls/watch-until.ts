import type { Output } from "../../../services/shared/cli/output.ts";
import { isRetryable } from "../../../services/shared/core/errors.ts";
import { pause } from "../../../services/shared/flow/backoff.ts";
import { toCliError } from "../cli/errors.ts";

const EVERY_MS = 2000;

/** How to follow a resource. */
export type Watched<T> = {
  readonly isFinal: (value: T) => boolean;
  /** The text that is shown after each change. */
  readonly line: (value: T) => string;
};

/**
 * Reads a resource again and again until it is final, which may take days: Ctrl-C ends it. Outages are shown and
 * survived. Throws errors that a retry cannot cure.
 */
export async function watchUntil<T>(
  output: Pick<Output, "note" | "failed">,
  read: () => Promise<T>,
  { isFinal, line }: Watched<T>,
): Promise<T> {
  let shown: string | undefined;
  for (;;) {
    try {
      const value = await read();
      const text = line(value);
      if (text !== shown) output.note(text);
      shown = text;
      if (isFinal(value)) return value;
    } catch (thrown) {
      const error = toCliError(thrown);
      if (error.code === "internal_error" || !isRetryable(error.code)) throw thrown;
      output.failed(error);
    }
    await pause(EVERY_MS);
  }
}
