import { type AppError, isRetryable } from "../core/errors.ts";
import { pause } from "../flow/backoff.ts";
import type { Output } from "./output.ts";

const EVERY_MS = 2000;

/**
 * Shows a list again and again until the process ends. Survives outages of the service: operators watch during
 * outages. Throws errors that a retry cannot cure.
 */
export async function watch(
  output: Pick<Output, "clear" | "failed">,
  show: () => Promise<unknown>,
  toError: (thrown: unknown) => AppError,
): Promise<never> {
  for (;;) {
    output.clear();
    try {
      await show();
    } catch (thrown) {
      const error = toError(thrown);
      if (error.code === "internal_error" || !isRetryable(error.code)) throw thrown;
      output.failed(error);
    }
    await pause(EVERY_MS);
  }
}
