/** What operators do with events that could not be handled. */
import type { Delivered, Verdict } from "../../shared/io/consumer.ts";

/** A dead letter, as far as these use cases look at it. */
export type Letter = {
  readonly id: string;
  readonly subject: string;
  readonly data: Uint8Array;
  readonly reason: string;
  readonly createdAtMs: number;
};

/** What handling dead letters needs. */
export type DeadLetterParts = {
  readonly store: {
    list(afterId: string, limit: number): Promise<Letter[]>;
    findByIds(ids: readonly string[]): Promise<Letter[]>;
    remove(ids: readonly string[]): Promise<void>;
  };
  readonly handle: (items: readonly Delivered[]) => Promise<readonly Verdict[]>;
};

const REPLAY_BATCH = 100;

/** One page, oldest first; the cursor is empty on the last one. */
export async function listDeadLetters(parts: DeadLetterParts, cursor: string, limit: number) {
  const letters = await parts.store.list(cursor, limit + 1);
  const page = letters.slice(0, limit);
  return { letters: page, nextCursor: letters.length > limit ? (page.at(-1)?.id ?? "") : "" };
}

/** Handles the named letters again, or all of them; answers how many are handled now. */
export async function replayDeadLetters(
  parts: DeadLetterParts,
  ids: readonly string[],
): Promise<number> {
  if (ids.length > 0) return replay(parts, await parts.store.findByIds(ids));
  let replayed = 0;
  let after = "";
  for (;;) {
    const letters = await parts.store.list(after, REPLAY_BATCH);
    if (letters.length === 0) return replayed;
    replayed += await replay(parts, letters);
    after = letters.at(-1)?.id ?? after;
  }
}

async function replay(parts: DeadLetterParts, letters: readonly Letter[]): Promise<number> {
  if (letters.length === 0) return 0;
  const verdicts = await parts.handle(letters.map((letter) => ({ ...letter, deliveries: 1 })));
  const handled = letters.filter((_, at) => verdicts[at]?.kind === "ack").map(({ id }) => id);
  await parts.store.remove(handled);
  return handled.length;
}
