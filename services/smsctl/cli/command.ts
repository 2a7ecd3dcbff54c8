import type { Clients } from "../calls/clients.ts";
import type { Options } from "./options.ts";
import type { Output } from "./output.ts";

/** What a command is given. */
export type CommandContext = {
  readonly clients: Clients;
  readonly options: Options;
  readonly output: Output;
  /** Aborted on Ctrl-C, for commands that end themselves. */
  readonly signal: AbortSignal;
};

/** One command: its usage line, and what it does. Answers an exit code; 0 unless said. */
export type Command = {
  readonly usage: string;
  /**
   * Ends when its signal is aborted, after tidying up. The process of any other command ends at once on
   * Ctrl-C: it has nothing to tidy up, and what it waits for may never come.
   */
  readonly endsItself?: true;
  readonly run: (context: CommandContext) => Promise<number | undefined>;
};

/** Commands of one noun, by verb. */
export type Commands = Readonly<Record<string, Command>>;

/** How many words a usage line takes: those before its first option or remark; with "…" any number. */
export function wordsMax(usage: string): number {
  const words = usage.split(/ (?=--|\[--|\||\()/, 1)[0] ?? "";
  return words.includes("…") ? Number.POSITIVE_INFINITY : words.split(" ").length;
}
