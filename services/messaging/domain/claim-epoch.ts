/**
 * Which of a carrier's claims were answered to nobody. A carrier numbers its claim calls within the
 * life of its process (the epoch), and a claim's id begins with its call. When the carrier says that
 * all calls up to a number have ended, a claim of such a call that it does not hold never reached it.
 * No clock is asked: the word stays true however late it is heard, and whoever's clock was wrong.
 */

/** One call of a carrier process. */
export type ClaimCall = { readonly epoch: string; readonly round: number };

const CALL = /^([0-9a-z]{1,32})\.(\d{1,15})(?:\.|$)/;

/** Reads `<epoch>.<round>`, alone or at the beginning of a claim's id; undefined when there is none. */
export function readClaimCall(text: string): ClaimCall | undefined {
  const [, epoch, round] = CALL.exec(text) ?? [];
  return epoch === undefined ? undefined : { epoch, round: Number(round) };
}

/** Writes a claim's id: the call, when it has a name, and what tells it from all other claims. */
export function claimIdOf(call: ClaimCall | undefined, unique: string): string {
  return call === undefined ? unique : `${call.epoch}.${call.round}.${unique}`;
}

/** Epochs that sort as they began; those of older carriers are random. */
const ORDERED = /^r[0-9a-z]{8}/;

/**
 * Tells whether the call of a claim had ended when its carrier spoke of `ended`: one of an earlier
 * process had, because only one process has the carrier's identity; one of a later process had not
 * begun, for the word was held up on its way. Undefined when either is unnamed.
 */
export function isClaimCallFinished(
  claimId: string,
  ended: ClaimCall | undefined,
): boolean | undefined {
  const call = readClaimCall(claimId);
  if (call === undefined || ended === undefined) return undefined;
  if (call.epoch === ended.epoch) return call.round <= ended.round;
  return !ORDERED.test(call.epoch) || call.epoch < ended.epoch;
}
