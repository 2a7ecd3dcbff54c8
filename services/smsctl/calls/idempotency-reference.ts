import { AppError } from "../../shared/core/errors.ts";
import { newId } from "../../shared/core/ids.ts";
import { toAppError } from "../../shared/rpc/error-status.ts";
import type { CommandContext } from "../cli/command.ts";
import { UNCERTAIN } from "./retryable-errors.ts";

/**
 * Moves money under `--reference`, or under one made here, which is shown before and after: when the answer
 * is lost, or this command with its terminal, only a repeat under the same reference is certain not to move
 * the money twice.
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
    if (!UNCERTAIN.has(error.code)) throw thrown;
    const said = error.code === "internal_error" ? (thrown as Error).message : error.message;
    const text = `${said} Whether the money was moved is not known: repeat with --reference ${reference}.`;
    throw new AppError(error.code, text, {
      cause: thrown,
      fields: error.fields,
      extra: { ...error.extra, reference },
    });
  }
}
