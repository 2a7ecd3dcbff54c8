import type {
  CommandDefinition,
  GroupDefinition,
  RunCommand,
} from "../../shared/cli/definition.ts";
import type { Options } from "../../shared/cli/options.ts";
import type { Output } from "../../shared/cli/output.ts";
import type { Clients } from "../calls/clients.ts";

/** The arguments of a command. */
export type CommandContext = {
  readonly clients: Clients;
  readonly options: Options;
  readonly output: Output;
  /** Aborted on Ctrl-C, for commands with `endsItself`. */
  readonly signal: AbortSignal;
};

/** A command of smsctl, commands of one noun, and the code of a command. */
export type Command = CommandDefinition<CommandContext>;
export type Group = GroupDefinition<CommandContext>;
export type Run = RunCommand<CommandContext>;
