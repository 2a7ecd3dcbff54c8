import type {
  CommandDefinition,
  GroupDefinition,
  RunCommand,
} from "../../../services/shared/cli/definition.ts";
import type { Options } from "../../../services/shared/cli/options.ts";
import type { Output } from "../../../services/shared/cli/output.ts";
import type { SmsClient } from "../../typescript/src/client.ts";

/** The arguments of a command. */
export type CommandContext = {
  readonly options: Options;
  readonly output: Output;
  /** Aborted on Ctrl-C, for commands with `endsItself`. */
  readonly signal: AbortSignal;
  /** The API under the key of the environment or the profile; throws when there is none. */
  readonly connect: () => SmsClient;
};

/** A command of sms, commands of one noun, and the code of a command. */
export type Command = CommandDefinition<CommandContext>;
export type Group = GroupDefinition<CommandContext>;
export type Run = RunCommand<CommandContext>;
