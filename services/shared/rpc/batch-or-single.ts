import { Code, ConnectError } from "@connectrpc/connect";

/** The service is of the version before; or the operators' list of methods (`RPC_TOKENS`) is. */
const NOT_KNOWN_YET: ReadonlySet<Code> = new Set([Code.Unimplemented, Code.PermissionDenied]);

/** Whether a call failed only because its method is not known yet. */
export function isUnimplemented(error: unknown): boolean {
  return NOT_KNOWN_YET.has(ConnectError.from(error).code);
}

/**
 * Asks many questions in one call. Where that call is not known yet, they are asked one by one:
 * while an upgrade goes on, both versions are there.
 */
export async function askTogether<Question, Answer>(
  questions: readonly Question[],
  together: (questions: readonly Question[]) => Promise<readonly Answer[]>,
  each: (question: Question) => Promise<Answer>,
): Promise<readonly (Answer | Error)[]> {
  try {
    return await together(questions);
  } catch (error) {
    if (!isUnimplemented(error)) throw error;
  }
  const answers = await Promise.allSettled(questions.map(each));
  return answers.map((one) => (one.status === "fulfilled" ? one.value : (one.reason as Error)));
}
