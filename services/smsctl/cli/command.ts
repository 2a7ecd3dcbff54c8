import type { Clients } from "../calls/clients.ts";
import type { Options } from "./options.ts";
import type { Output } from "./output.ts";

/** The arguments of a command. */
export type CommandContext = {
  readonly clients: Clients;
  readonly options: Options;
  readonly output: Output;
  /** Aborted on Ctrl-C, for commands with `endsItself`. */
  readonly signal: AbortSignal;
};

/** One command. `run` returns the exit code, 0 when undefined. */
export type Command = {
  readonly usage: string;
  /**
   * The command cleans up and ends when its signal is aborted. Without it the process exits at once on
   * Ctrl-C: there is nothing to clean up, and a pending call may never return.
   */
  readonly endsItself?: true;
  readonly run: (context: CommandContext) => Promise<number | undefined>;
};

/** Commands of one noun, by verb. */
export type Commands = Readonly<Record<string, Command>>;

/** The most words a usage line allows: those before its first option or remark; "…" means any number. */
export function wordsMax(usage: string): number {
  const words = usage.split(/ (?=--|\[--|\||\()/, 1)[0] ?? "";
  return words.includes("…") ? Number.POSITIVE_INFINITY : words.split(" ").length;
}
