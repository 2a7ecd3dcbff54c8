import { pollUntil } from "../../deploy/dev/poll.ts";

/** The first polls are frequent; a longer wait leaves the processor to the work under test. */
const EVERY_MS = 10;
const EVERY_MAX_MS = 100;

/**
 * Runs `probe` until it stops throwing and gives something other than undefined or false; gives
 * that value. After `timeoutMs` it throws, with the last failure as the cause.
 */
export async function eventually<T>(
  probe: () => Promise<T | undefined | false> | T | undefined | false,
  options: { readonly timeoutMs?: number; readonly everyMs?: number; readonly what?: string } = {},
): Promise<T> {
  const { timeoutMs = 20_000, everyMs = EVERY_MS, what = "what was waited for" } = options;
  let cause: unknown;
  const found = await pollUntil<{ value: T }>(
    async () => {
      try {
        const value = await probe();
        cause = undefined;
        return value !== undefined && value !== false && { value };
      } catch (error) {
        cause = error;
        return undefined;
      }
    },
    timeoutMs,
    everyMs,
    options.everyMs ?? EVERY_MAX_MS,
  );
  if (found !== undefined) return found.value;
  const why = cause instanceof Error ? `: ${cause.message}` : "";
  throw new Error(`${what} did not happen within ${timeoutMs} ms${why}`, { cause });
}
