/** The result of one of several promises. */
export type Ended<T> = { readonly at: number; readonly value: T };

/**
 * Yields the results of promises in the order of completion; `at` is the position in the input. Promises that
 * resolve in the same iteration of the event loop, like the items of a batch, form one group. The first rejection
 * is thrown.
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
