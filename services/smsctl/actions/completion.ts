import { completionScript, SHELLS } from "../../shared/cli/completion.ts";
import type { ProgramDefinition } from "../../shared/cli/definition.ts";
import { AppError } from "../../shared/core/errors.ts";
import type { CommandContext, Run } from "../cli/command.ts";

/** Prints the script of the shell that the command names. */
export function printCompletion(program: ProgramDefinition<CommandContext>): Run {
  return async ({ options }) => {
    const given = options.word(0, "The shell");
    const shell = SHELLS.find((one) => one === given);
    if (shell === undefined) {
      throw new AppError("validation_error", `There is no shell ${given}: ${SHELLS.join(", ")}.`);
    }
    process.stdout.write(completionScript(program, shell));
    return 0;
  };
}
