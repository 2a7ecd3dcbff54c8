/**
 * `smsctl`: the operators' command line, a gRPC client. README.md has its exit codes. Loads the code of a command
 * only when that command runs, so that help and mistakes are answered at once.
 */
import { runCommandLine } from "../shared/cli/command-line.ts";
import type { CommandDefinition, ParsedCommand } from "../shared/cli/definition.ts";
import { EXIT } from "../shared/cli/exit-codes.ts";
import { createOptions } from "../shared/cli/options.ts";
import { createOutput } from "../shared/cli/output.ts";
import { outputStyle } from "../shared/cli/style.ts";
import type { AppError } from "../shared/core/errors.ts";
import type { CommandContext } from "./cli/command.ts";
import { PROGRAM, smsctlProgram } from "./cli/tree.ts";

process.exitCode = await runCommandLine(
  { program: smsctlProgram(), run, toError },
  process.argv.slice(2),
);
// After an interruption, do not wait for servers to close their connections.
if (process.exitCode === EXIT.interrupted) process.exit();

/** Converts a failure to an error. Imports on use: a mistake in the command line does not load the clients. */
async function toError(thrown: unknown, ended: AbortSignal): Promise<AppError | undefined> {
  const { isInterruption, toCliError } = await import("./cli/errors.ts");
  return ended.aborted && isInterruption(thrown) ? undefined : toCliError(thrown);
}

async function run(
  command: CommandDefinition<CommandContext>,
  parsed: ParsedCommand,
  signal: AbortSignal,
): Promise<number> {
  const options = createOptions(parsed);
  const output = createOutput(PROGRAM, outputStyle(options), process.stdout, process.stderr);
  const act = await command.load();
  if (command.isLocal === true) {
    const clients = undefined as unknown as CommandContext["clients"];
    return (await act({ clients, options, output, signal })) ?? 0;
  }
  const { runWithClients } = await import("./cli/run-with-clients.ts");
  return runWithClients({ options, output, signal }, act);
}
