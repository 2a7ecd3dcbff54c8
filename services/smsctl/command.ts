import type { Clients } from "./clients.ts";
import type { Options } from "./options.ts";
import type { Output } from "./output.ts";

/** What a command is given. */
export type CommandContext = {
  readonly clients: Clients;
  readonly options: Options;
  readonly output: Output;
  /** Aborted on Ctrl-C, for commands that watch. */
  readonly signal: AbortSignal;
};

/** One command: its usage line, and what it does. Answers an exit code; 0 unless said. */
export type Command = {
  readonly usage: string;
  readonly run: (context: CommandContext) => Promise<number | undefined>;
};

/** Commands of one noun, by verb. */
export type Commands = Readonly<Record<string, Command>>;
