/** A command line as data: the parser, its help, its completion and its tests are made from it. */

/** An option of a command. */
export type OptionDefinition = {
  /** As commander reads it: `--tenant <tenant>`, or `--watch` for a flag. */
  readonly flags: string;
  readonly about: string;
  readonly isRequired?: true;
};

/** The values of one command line. */
export type ParsedCommand = {
  readonly args: readonly string[];
  /** By name without dashes; a flag is `true` or `false`. */
  readonly options: ReadonlyMap<string, string>;
};

/** One command. `C` is the context that its function gets. */
export type CommandDefinition<C> = {
  readonly name: string;
  /** A sentence. */
  readonly about: string;
  /** Command lines without the program's name; at least one. */
  readonly examples: readonly string[];
  /** As commander reads them: `<message-id>`, `[id...]`. */
  readonly args?: string;
  readonly options?: readonly OptionDefinition[];
  /** Shows a list: it gets `--watch`. */
  readonly isList?: true;
  /**
   * The command cleans up and ends when its signal is aborted. Without it the process exits at once on
   * Ctrl-C: there is nothing to clean up, and a pending call may never return.
   */
  readonly endsItself?: true;
  /** Calls no service. */
  readonly isLocal?: true;
  /** Loads the code of the command, which other commands and `--help` do not need. */
  readonly load: () => Promise<RunCommand<C>>;
};

/** Runs a command; returns the exit code, 0 when undefined. */
export type RunCommand<C> = (context: C) => Promise<number | undefined>;

/** Commands that share their first word. */
export type GroupDefinition<C> = {
  readonly name: string;
  readonly about: string;
  readonly commands: readonly CommandDefinition<C>[];
};

/** A whole program. */
export type ProgramDefinition<C> = {
  readonly name: string;
  readonly about: string;
  readonly version: string;
  /** Shown at the end of the program's help. */
  readonly epilogue: string;
  /** Options of every command. */
  readonly options: readonly OptionDefinition[];
  readonly entries: readonly (GroupDefinition<C> | CommandDefinition<C>)[];
};

/** The option of every list. */
export const WATCH: OptionDefinition = {
  flags: "--watch",
  about: "Show the list again every 2 seconds, until Ctrl-C.",
};

/** Whether an entry is a group of commands. */
export function isGroup<C>(
  entry: GroupDefinition<C> | CommandDefinition<C>,
): entry is GroupDefinition<C> {
  return "commands" in entry;
}

/** The options of a command, those of lists included. */
export function optionsOf<C>(command: CommandDefinition<C>): readonly OptionDefinition[] {
  return [...(command.options ?? []), ...(command.isList === true ? [WATCH] : [])];
}

/** The name of an option without dashes. */
export function optionName({ flags }: OptionDefinition): string {
  return /--([a-z-]+)/.exec(flags)?.[1] ?? "";
}

/** Whether an option takes no value. */
export function isFlag({ flags }: OptionDefinition): boolean {
  return !/[<[]/.test(flags);
}

/** Every command with the words that name it. */
export function commandsOf<C>(
  program: Pick<ProgramDefinition<C>, "entries">,
): { readonly words: readonly string[]; readonly command: CommandDefinition<C> }[] {
  return program.entries.flatMap((entry) =>
    isGroup(entry)
      ? entry.commands.map((command) => ({ words: [entry.name, command.name], command }))
      : [{ words: [entry.name], command: entry }],
  );
}
