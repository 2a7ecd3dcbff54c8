/** Runs the command line of a program: its signals, its errors and its exit code. */
import { AppError } from "../core/errors.ts";
import type { CommandDefinition, ParsedCommand, ProgramDefinition } from "./definition.ts";
import { EXIT, EXIT_CODES } from "./exit-codes.ts";
import { failure } from "./output.ts";
import { runProgram } from "./program.ts";
import { endOnSignals } from "./signals.ts";

/** The properties in which programs differ. */
export type CommandLine<C> = {
  readonly program: ProgramDefinition<C>;
  /** Runs one command; returns the exit code. */
  readonly run: (
    command: CommandDefinition<C>,
    parsed: ParsedCommand,
    signal: AbortSignal,
  ) => Promise<number>;
  /** Turns another thrown value into an `AppError`; undefined for the end of an interrupted call. */
  readonly toError: (thrown: unknown, ended: AbortSignal) => Promise<AppError | undefined>;
};

/** Returns the exit code. */
export async function runCommandLine<C>(
  { program, run, toError }: CommandLine<C>,
  argv: readonly string[],
): Promise<number> {
  const ended = new AbortController();
  let code = 0;
  let endsItself = false;
  endOnSignals(program.name, ended, () => endsItself);
  const execute = async (command: CommandDefinition<C>, parsed: ParsedCommand): Promise<void> => {
    endsItself = command.endsItself === true;
    code = await run(command, parsed, ended.signal);
  };
  try {
    await runProgram(program, argv, execute, { write: (text) => process.stdout.write(text) });
    return ended.signal.aborted ? EXIT.interrupted : code;
  } catch (thrown) {
    const error = thrown instanceof AppError ? thrown : await toError(thrown, ended.signal);
    if (error === undefined) return EXIT.interrupted;
    process.stderr.write(shownError(program.name, error, wantsJson(argv)));
    return EXIT_CODES[error.code];
  }
}

/** Where a word is missing, people get the help of the group, and programs the error. */
function shownError(program: string, error: AppError, isJson: boolean): string {
  const { help, ...extra } = error.extra;
  if (help !== undefined && !isJson) return help;
  const { code, message, fields } = error;
  return failure(program, new AppError(code, message, { fields, extra }), isJson);
}

/** Also of a command line that cannot be parsed. */
function wantsJson(argv: readonly string[]): boolean {
  const text = argv.join(" ");
  return /(^| )(--json(=true)?|-o ?json|--output[ =]json)( |$)/.test(text);
}
