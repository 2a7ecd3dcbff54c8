import { existsSync, readFileSync } from "node:fs";
import { processLayout } from "../../deploy/dev/process-table.ts";
import type { StackFile } from "../../deploy/dev/stack-file.ts";
import { startTestStack } from "../support/stack.ts";

/** A stack to measure, and how to leave it. */
export type LoadStack = { readonly stack: StackFile; readonly stop: () => Promise<void> };

/**
 * A stack of the benchmark's own, so that nothing else runs beside it. Its services are spread over
 * processes as `make up` spreads them on this machine, or as `PROCESSES` says.
 * `BENCH_STACK=.local/stack.json` measures a running one instead.
 */
export async function loadStack(
  settings: Readonly<Record<string, string>> = {},
  processes = processLayout(process.env),
): Promise<LoadStack> {
  const file = process.env.BENCH_STACK;
  if (file !== undefined) {
    // A stack of its own instead would measure something else.
    if (!existsSync(file)) throw new Error(`BENCH_STACK=${file} does not exist: make up`);
    return {
      stack: JSON.parse(readFileSync(file, "utf8")) as StackFile,
      stop: async () => undefined,
    };
  }
  process.stdout.write("starting a stack of its own\n");
  const stack = await startTestStack({
    settings: { LOG_LEVEL: "warn", ...settings },
    processes,
  });
  return { stack, stop: stack.stop };
}
