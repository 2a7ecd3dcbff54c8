/**
 * Questions to another service, of which those of one moment go in one call: with thousands of tenants
 * that send now and then, a call and a query for each would cost more than the sends.
 */

import type { AppError } from "../core/errors.ts";
import { askTogether } from "../rpc/batch-or-single.ts";
import { toAppError } from "../rpc/error-status.ts";
import { createBatcher } from "./batcher.ts";

/** A batch that is not full leaves this long after the one before it, unless told otherwise. */
const PACE_MS = 5;
const LANES = 4;
const QUEUE_MAX = 8192;

/**
 * Makes a question. `read` turns an answer, or the error of a question that was asked alone, into
 * what is wanted; a call that fails as a whole fails each of its questions with an `AppError`.
 */
export function createDataLoader<Question, Answer, Fact>(options: {
  readonly name: string;
  /** In one call. */
  readonly atOnceMax: number;
  /** Distance of calls that are not full, in milliseconds; a lone question leaves at once. */
  readonly paceMs?: number;
  readonly together: (questions: readonly Question[]) => Promise<readonly (Answer | Error)[]>;
  /** Where that call is not known yet (`ask-together.ts`). */
  readonly each: (question: Question) => Promise<Answer>;
  readonly read: (answer: Answer | AppError, question: Question) => Fact | AppError;
}): (question: Question) => Promise<Fact> {
  const { name, atOnceMax, together, each, read } = options;
  const batcher = createBatcher<Question, Fact>({
    name,
    batchMax: atOnceMax,
    queueMax: QUEUE_MAX,
    lanes: LANES,
    paceMs: options.paceMs ?? PACE_MS,
    isTransient: () => true,
    async flush(questions) {
      const answers = await askTogether<Question, Answer | Error>(questions, together, each).catch(
        (error: unknown) => {
          throw toAppError(error);
        },
      );
      return questions.map((question, at) => {
        const answer = answers[at] as Answer | Error;
        return read(answer instanceof Error ? toAppError(answer) : answer, question);
      });
    },
  });
  return (question) => batcher.add(question);
}
