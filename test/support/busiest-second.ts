/** The most instants within any one second; they rise, and `second` is how long it is in their unit. */
export function busiestSecond(instants: readonly number[], second = 1000): number {
  let most = 0;
  let from = 0;
  instants.forEach((at, place) => {
    while ((instants[from] as number) <= at - second) from += 1;
    most = Math.max(most, place - from + 1);
  });
  return most;
}
