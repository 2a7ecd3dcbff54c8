import { Code, ConnectError } from "@connectrpc/connect";

/**
 * Asks many questions in one call. A service of the version before, which does not know that call,
 * is asked one by one: while an upgrade goes on, both are there.
 */
export async function askTogether<Question, Answer>(
  questions: readonly Question[],
  together: (questions: readonly Question[]) => Promise<readonly Answer[]>,
  each: (question: Question) => Promise<Answer>,
): Promise<readonly (Answer | Error)[]> {
  try {
    return await together(questions);
  } catch (error) {
    if (ConnectError.from(error).code !== Code.Unimplemented) throw error;
  }
  const answers = await Promise.allSettled(questions.map(each));
  return answers.map((one) => (one.status === "fulfilled" ? one.value : (one.reason as Error)));
}
