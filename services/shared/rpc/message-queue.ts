/** Turns the messages of a gRPC call, delivered one per request, into an async iterable. */

/** The receiving half of a streaming call. */
export type Inbox<T> = {
  readonly messages: AsyncIterable<T>;
  /** Requests the first message. */
  open(): void;
  push(message: T): void;
  end(): void;
  /** Ends with an error; unread messages are dropped. */
  fail(error: unknown): void;
};

type Waiter<T> = {
  readonly resolve: (result: IteratorResult<T>) => void;
  readonly reject: (error: unknown) => void;
};

/**
 * For one reader. It requests the next message when one is read, so at most one waits here and the sender gets
 * back-pressure.
 */
export function createInbox<T>(requestNext: () => void): Inbox<T> {
  const ready: T[] = [];
  let waiter: Waiter<T> | undefined;
  let closed: { readonly error: unknown } | undefined;

  function close(error: unknown): void {
    if (closed !== undefined) return;
    closed = { error };
    const waiting = waiter;
    waiter = undefined;
    if (waiting === undefined) return;
    if (error === undefined) waiting.resolve({ done: true, value: undefined });
    else waiting.reject(error);
  }

  function next(): Promise<IteratorResult<T>> {
    if (ready.length > 0 && closed?.error === undefined) {
      const value = ready.shift() as T;
      if (closed === undefined) requestNext();
      return Promise.resolve({ done: false, value });
    }
    if (closed !== undefined) {
      if (closed.error === undefined) return Promise.resolve({ done: true, value: undefined });
      return Promise.reject(closed.error);
    }
    return new Promise((resolve, reject) => {
      waiter = { resolve, reject };
    });
  }

  return {
    messages: { [Symbol.asyncIterator]: () => ({ next }) },
    open: requestNext,
    push(message) {
      if (closed !== undefined) return;
      if (waiter === undefined) {
        ready.push(message);
        return;
      }
      const { resolve } = waiter;
      waiter = undefined;
      resolve({ done: false, value: message });
      requestNext();
    },
    end: () => close(undefined),
    fail: (error) => close(error ?? new Error("the call ended")),
  };
}
