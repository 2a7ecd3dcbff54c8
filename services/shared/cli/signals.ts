import { EXIT } from "./exit-codes.ts";

/** A launcher may forward a signal that the terminal also sent here: count both as one. */
const SAME_SIGNAL_MS = 1000;

/**
 * Ctrl-C, a closed terminal and a closed pipe (`| head`) end a program with 130, also while it shows its help. Where
 * `endsItself` is true, the first signal only aborts the command, so that it can clean up; a later signal ends it.
 */
export function endOnSignals(
  program: string,
  ended: AbortController,
  endsItself: () => boolean,
): void {
  let firstMs: number | undefined;
  const end = (): void => {
    if (!endsItself()) process.exit(EXIT.interrupted);
    firstMs ??= performance.now();
    if (performance.now() - firstMs > SAME_SIGNAL_MS) process.exit(EXIT.interrupted);
    ended.abort();
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, end);
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") return end();
    process.stderr.write(`${program}: the result cannot be written: ${error.message}\n`);
    process.exit(EXIT.failed);
  });
}
