/** What became of one of several things that were begun together. */
export type Ended<T> = { readonly at: number; readonly value: T };

/**
 * What promises answer, in the order in which they end; `at` counts from 0 in the order given.
 * Those that end in one turn of the event loop, as the items of a batch do, are one group. The
 * first that rejects ends it all with its reason.
 */
export async function* inCompletionOrder<T>(
  promises: readonly Promise<T>[],
): AsyncGenerator<Ended<T>[]> {
  let ended: Ended<T>[] = [];
  let wake = (): void => {};
  let fail = (_reason: unknown): void => {};
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  failed.catch(() => {});
  promises.forEach((promise, at) => {
    promise.then((value) => {
      ended.push({ at, value });
      wake();
    }, fail);
  });
  for (let left = promises.length; left > 0; ) {
    const some = new Promise<void>((resolve) => {
      wake = resolve;
    });
    if (ended.length === 0) await Promise.race([some, failed]);
    await new Promise((resolve) => setImmediate(resolve));
    const group = ended;
    ended = [];
    left -= group.length;
    yield group;
  }
}
