/**
 * Keeps what the enclosing `describe` opens, and closes it at its end: the last opened first, also
 * after a later step failed.
 */
export function useClosers() {
  const closers: (() => unknown)[] = [];
  after(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });
  return <T>(resource: T, close: (resource: T) => unknown): T => {
    closers.push(() => close(resource));
    return resource;
  };
}
