import { AppError } from "../../shared/core/errors.ts";
import { newId } from "../../shared/core/ids.ts";
import { toAppError } from "../../shared/rpc/error-status.ts";
import type { CommandContext } from "../cli/command.ts";
import { UNCERTAIN_ERRORS } from "./retryable-errors.ts";

/**
 * Moves money under `--reference`, or under a generated one, which is printed before and after the call.
 * If the response or the terminal is lost, only a repeat under the same reference cannot move the money twice.
 */
export async function moveOnce<T>(
  { options, output }: Pick<CommandContext, "options" | "output">,
  move: (reference: string) => Promise<T>,
): Promise<{ readonly answer: T; readonly reference: string }> {
  const isGiven = options.optional("reference") !== undefined;
  const reference = isGiven ? options.required("reference") : newId("request");
  if (!isGiven) output.note(`under --reference ${reference}`);
  try {
    return { answer: await move(reference), reference };
  } catch (thrown) {
    const error = toAppError(thrown);
    if (!UNCERTAIN_ERRORS.has(error.code)) throw thrown;
    const said = error.code === "internal_error" ? (thrown as Error).message : error.message;
    const text = `${said} Whether the money was moved is not known: repeat with --reference ${reference}.`;
    throw new AppError(error.code, text, {
      cause: thrown,
      fields: error.fields,
      extra: { ...error.extra, reference },
    });
  }
}
