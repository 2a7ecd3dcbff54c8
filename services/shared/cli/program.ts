/** Makes the parser of a program: commander reads words and options, and writes help and suggestions. */
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { AppError } from "../core/errors.ts";
import {
  type CommandDefinition,
  commandsOf,
  isFlag,
  isGroup,
  type OptionDefinition,
  optionName,
  optionsOf,
  type ParsedCommand,
  type ProgramDefinition,
} from "./definition.ts";

/** Runs a parsed command. */
export type Execute<C> = (command: CommandDefinition<C>, parsed: ParsedCommand) => Promise<void>;

export type ProgramSinks = {
  /** Help and the version. */
  readonly write: (text: string) => void;
  /** Columns of help; by default commander asks the terminal. */
  readonly width?: number;
};

/**
 * Parses a command line and runs its command. Throws `validation_error` for a wrong one. When a word is
 * missing, `extra.help` has the help of the program or group.
 */
export async function runProgram<C>(
  definition: ProgramDefinition<C>,
  argv: readonly string[],
  execute: Execute<C>,
  sinks: ProgramSinks,
): Promise<void> {
  const words = spellFlags(definition, argv);
  let help = "";
  const root = createParser(definition, words, execute, {
    ...sinks,
    writeError: (text) => {
      help += text;
    },
  });
  try {
    await root.parseAsync(words, { from: "user" });
  } catch (thrown) {
    if (!(thrown instanceof CommanderError)) throw thrown;
    if (thrown.exitCode === 0) return;
    if (thrown.code === "commander.help") {
      throw new AppError("validation_error", "A command is missing.", { extra: { help } });
    }
    throw new AppError("validation_error", oneSentence(thrown.message), { cause: thrown });
  }
}

/** The help of the program (no words), of a group or of a command. */
export function helpOf<C>(
  definition: ProgramDefinition<C>,
  words: readonly string[],
  width: number,
): string {
  const sinks = { write: () => undefined, writeError: () => undefined, width };
  let found: Command = createParser(definition, [], async () => undefined, sinks);
  for (const word of words) {
    const next = found.commands.find((one) => one.name() === word);
    if (next === undefined) throw new Error(`there is no command ${words.join(" ")}`);
    found = next;
  }
  let text = "";
  const write = (part: string) => {
    text += part;
  };
  found.configureOutput({ writeOut: write, getOutHelpWidth: () => width }).outputHelp();
  return text;
}

/** Help is wrapped where its texts have at least this many columns beside long options. */
const TEXT_WIDTH_MIN = 24;

function createParser<C>(
  definition: ProgramDefinition<C>,
  argv: readonly string[],
  execute: Execute<C>,
  sinks: ProgramSinks & { readonly writeError: (text: string) => void },
): Command {
  const { width } = sinks;
  const root = new Command(definition.name)
    .description(definition.about)
    .usage("<command> [options]")
    .version(definition.version, "--version", "Show the version.")
    .exitOverride()
    .helpOption("-h, --help", "Show this help.")
    .helpCommand("help [command]", "Show the help of a command.")
    .configureHelp({ showGlobalOptions: true, minWidthToWrap: TEXT_WIDTH_MIN })
    .configureOutput({
      writeOut: sinks.write,
      writeErr: sinks.writeError,
      // The message comes with the thrown error.
      outputError: () => undefined,
      ...(width === undefined
        ? {}
        : { getOutHelpWidth: () => width, getErrHelpWidth: () => width }),
    })
    .addHelpText("after", `\n${definition.epilogue}`);
  for (const option of definition.options) root.addOption(toOption(option, argv));
  for (const entry of definition.entries) {
    const parser = root.command(entry.name).description(entry.about);
    if (!isGroup(entry)) {
      addCommand(parser, definition.name, entry, argv, execute);
      continue;
    }
    parser.usage("<command>");
    const [first] = entry.commands;
    const example = first?.examples[0] ?? "";
    parser.addHelpText("after", `\nExample:\n  $ ${definition.name} ${example}`);
    for (const command of entry.commands) {
      const child = parser.command(command.name).description(command.about);
      addCommand(child, definition.name, command, argv, execute);
    }
  }
  return root;
}

function addCommand<C>(
  parser: Command,
  program: string,
  command: CommandDefinition<C>,
  argv: readonly string[],
  execute: Execute<C>,
): void {
  const options = optionsOf(command);
  const required = options.filter(({ isRequired }) => isRequired).map(({ flags }) => flags);
  const rest = required.length === options.length ? [] : ["[options]"];
  parser.usage([...required, command.args ?? "", ...rest].filter(Boolean).join(" "));
  if (command.args !== undefined) parser.arguments(command.args);
  for (const option of options) parser.addOption(toOption(option, argv));
  const lines = command.examples.map((line) => `  $ ${program} ${line}`).join("\n");
  parser.addHelpText("after", `\nExample${command.examples.length > 1 ? "s" : ""}:\n${lines}`);
  parser.action(() => execute(command, { args: parser.args, options: valuesOf(parser) }));
}

/** Refuses a repeated option, because one of its values would be ignored, and an option as a value. */
function toOption({ flags, about, isRequired }: OptionDefinition, argv: readonly string[]): Option {
  const option = new Option(flags, about);
  if (isFlag({ flags, about })) return option;
  if (isRequired === true) option.makeOptionMandatory();
  return option.argParser((value: string, previous: unknown) => {
    if (previous !== undefined) throw new InvalidArgumentError("It is given twice.");
    const isInline = argv.includes(`${option.long}=${value}`);
    if (value.startsWith("--") && !isInline) {
      throw new InvalidArgumentError(`Write ${option.long}=${value} if that is the value.`);
    }
    return value;
  });
}

/** The given options of a command and of the program. */
function valuesOf(command: Command): Map<string, string> {
  const options = [...(command.parent?.parent?.options ?? []), ...(command.parent?.options ?? [])];
  const values = new Map<string, string>();
  const given = command.optsWithGlobals<Record<string, unknown>>();
  for (const option of [...options, ...command.options]) {
    const value = given[option.attributeName()];
    const name = option.long?.replace(/^--(no-)?/, "") ?? "";
    if (value !== undefined && name !== "version") values.set(name, String(value));
  }
  return values;
}

/** `--tls=true` and `--tls=false` of a flag as commander knows them: `--tls`, or left out. */
function spellFlags<C>(definition: ProgramDefinition<C>, argv: readonly string[]): string[] {
  const all = [
    ...definition.options,
    ...commandsOf(definition).flatMap(({ command }) => optionsOf(command)),
  ];
  const flags = new Set(all.filter(isFlag).map(optionName));
  return argv.flatMap((word) => {
    const [, name = "", value = ""] = /^--([a-z-]+)=(.*)$/s.exec(word) ?? [];
    if (!flags.has(name)) return [word];
    if (value === "true") return [`--${name}`];
    if (value === "false") return [];
    throw new AppError("validation_error", `--${name} must be true or false.`);
  });
}

/** "error: unknown command 'crate'\n(Did you mean create?)" as one line. */
function oneSentence(message: string): string {
  const [first = "", ...hints] = message.replace(/^error: /, "").split("\n");
  const text = [first.replace(/\.$/, ""), ...hints].join(" ");
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${text.endsWith(")") ? "" : "."}`;
}
