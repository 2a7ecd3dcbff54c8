/** A fault of the machine or its settings; the message is one line with the fix. */
export class StackError extends Error {
  override readonly name = "StackError";
}

const INTERRUPTED = 130;

/** Runs a command's main function; a StackError becomes one line on standard error and exit 1. */
export async function runCommand(main: () => Promise<void>): Promise<void> {
  // A closed pipe (`make up | head`) must not abort the work.
  process.stdout.on("error", () => {});
  try {
    await main();
  } catch (error) {
    // Ctrl-C has already printed its word (interrupted.mjs).
    if (process.exitCode === INTERRUPTED) return;
    process.stderr.write(`${error instanceof StackError ? error.message : describe(error)}\n`);
    process.exitCode = 1;
  }
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
