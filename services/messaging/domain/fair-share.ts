/** The maximum number of messages in one call. */
export const CLAIM_MAX = 1000;

/**
 * Max-min fair share of one call among its claims: small claims are met in full, the others get equal shares.
 * Returns the claims unchanged if all of them fit, valid or not.
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
