/**
 * Runs a batch; when it fails, runs each half of it, and so on, so that only the items at fault fail. Halves
 * run one after the other and keep their order. An error that `canSplit` refuses fails all items of that
 * run: in an outage each half would fail in the same way.
 */
export async function isolateFailingItems<Item>(
  items: readonly Item[],
  options: {
    /** Succeeds for all items or fails for all. Must be safe to run again. */
    readonly run: (items: readonly Item[]) => Promise<void>;
    readonly canSplit: (error: unknown) => boolean;
    readonly onFailure: (items: readonly Item[], error: unknown) => void;
  },
): Promise<void> {
  try {
    await options.run(items);
  } catch (error) {
    if (items.length === 1 || !options.canSplit(error)) return options.onFailure(items, error);
    const middle = items.length >> 1;
    await isolateFailingItems(items.slice(0, middle), options);
    await isolateFailingItems(items.slice(middle), options);
  }
}
