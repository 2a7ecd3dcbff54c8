/** Messages that one call hands to a carrier at most, whatever it asks for. */
export const CLAIM_MAX = 1000;

/**
 * Shares the room of one call out among its claims: who asks for little gets it, the others get the
 * same. What is asked for stays as it is where there is room for all of it, sensible or not.
 */
export function fairShare(wanted: readonly number[], room = CLAIM_MAX): number[] {
  const shares = new Array<number>(wanted.length).fill(0);
  const order = wanted.map((want, at) => ({ want, at })).sort((a, b) => a.want - b.want);
  let left = room;
  order.forEach(({ want, at }, before) => {
    const share = Math.min(want, Math.floor(left / (order.length - before)));
    shares[at] = share;
    left -= Math.max(0, share);
  });
  return shares;
}
