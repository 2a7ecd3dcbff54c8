/**
 * `smsctl`: the operators' command line, a gRPC client. README.md has its exit codes. Loads the code of a command
 * only when that command runs, so that help and mistakes are answered at once.
 */
import type { CommandDefinition, ParsedCommand } from "../shared/cli/definition.ts";
import { EXIT, EXIT_CODES } from "../shared/cli/exit-codes.ts";
import { createOptions } from "../shared/cli/options.ts";
import { createOutput, failure } from "../shared/cli/output.ts";
import { runProgram } from "../shared/cli/program.ts";
import { endOnSignals } from "../shared/cli/signals.ts";
import { outputStyle } from "../shared/cli/style.ts";
import { AppError } from "../shared/core/errors.ts";
import type { CommandContext } from "./cli/command.ts";
import { PROGRAM, smsctlProgram } from "./cli/tree.ts";

process.exitCode = await main(process.argv.slice(2));
// After an interruption, do not wait for servers to close their connections.
if (process.exitCode === EXIT.interrupted) process.exit();

async function main(argv: readonly string[]): Promise<number> {
  const ended = new AbortController();
  let code = 0;
  const execute = async (
    command: CommandDefinition<CommandContext>,
    parsed: ParsedCommand,
  ): Promise<void> => {
    endOnSignals(PROGRAM, ended, command.endsItself === true);
    code = await run(command, parsed, ended.signal);
  };
  try {
    await runProgram(smsctlProgram(), argv, execute, {
      write: (text) => process.stdout.write(text),
    });
    return ended.signal.aborted ? EXIT.interrupted : code;
  } catch (thrown) {
    const error = await readError(thrown, ended.signal);
    if (error === undefined) return EXIT.interrupted;
    process.stderr.write(shownError(error, wantsJson(argv)));
    return EXIT_CODES[error.code];
  }
}

/** The error that the user sees; undefined for the end of an interrupted call. */
async function readError(thrown: unknown, ended: AbortSignal): Promise<AppError | undefined> {
  // The mistake of a command line needs nothing of the clients, which take longer to load.
  if (thrown instanceof AppError) return thrown;
  const { isInterruption, toCliError } = await import("./cli/errors.ts");
  return ended.aborted && isInterruption(thrown) ? undefined : toCliError(thrown);
}

/** Where a word is missing, people get the help of the group, and programs the error. */
function shownError(error: AppError, isJson: boolean): string {
  const { help, ...extra } = error.extra;
  if (help !== undefined && !isJson) return help;
  const { code, message, fields } = error;
  return failure(PROGRAM, new AppError(code, message, { fields, extra }), isJson);
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

/** Also of a command line that cannot be parsed. */
function wantsJson(argv: readonly string[]): boolean {
  const text = argv.join(" ");
  return /(^| )(--json(=true)?|-o ?json|--output[ =]json)( |$)/.test(text);
}
