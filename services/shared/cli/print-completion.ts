import { AppError } from "../core/errors.ts";
import { completionScript, SHELLS } from "./completion.ts";
import type { ProgramDefinition } from "./definition.ts";
import type { Options } from "./options.ts";

/** Prints the completion script of the shell that the command's first word names. */
export function printCompletion<C>(
  program: ProgramDefinition<C>,
): (context: { readonly options: Options }) => Promise<number> {
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
