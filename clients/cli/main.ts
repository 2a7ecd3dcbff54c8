/** `sms`: the customers' command line, a client of the REST API. README.md has its exit codes. */
import { runCommandLine } from "../../services/shared/cli/command-line.ts";
import type { CommandDefinition, ParsedCommand } from "../../services/shared/cli/definition.ts";
import { EXIT } from "../../services/shared/cli/exit-codes.ts";
import { createOptions } from "../../services/shared/cli/options.ts";
import { createOutput } from "../../services/shared/cli/output.ts";
import { outputStyle } from "../../services/shared/cli/style.ts";
import { watch } from "../../services/shared/cli/watch.ts";
import type { AppError } from "../../services/shared/core/errors.ts";
import { connect } from "./calls/connect.ts";
import type { CommandContext } from "./cli/command.ts";
import { toCliError } from "./cli/errors.ts";
import { PROGRAM, smsProgram } from "./cli/tree.ts";

process.exitCode = await runCommandLine(
  { program: smsProgram(), run, toError },
  process.argv.slice(2),
);
// After an interruption, do not wait for a call that is still open.
if (process.exitCode === EXIT.interrupted) process.exit();

async function toError(thrown: unknown, ended: AbortSignal): Promise<AppError | undefined> {
  return ended.aborted && thrown === ended.reason ? undefined : toCliError(thrown);
}

async function run(
  command: CommandDefinition<CommandContext>,
  parsed: ParsedCommand,
  signal: AbortSignal,
): Promise<number> {
  const options = createOptions(parsed);
  const output = createOutput(PROGRAM, outputStyle(options), process.stdout, process.stderr);
  const act = await command.load();
  const context = {
    ...{ options, output, signal },
    // Called by commands that need the API: the others work without a key.
    connect: () => connect(options, process.env),
  };
  const once = () => act(context);
  if (command.isList === true && options.isSet("watch")) await watch(output, once, toCliError);
  return (await once()) ?? 0;
}
