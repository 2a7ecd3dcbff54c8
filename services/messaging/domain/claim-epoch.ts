/**
 * Finds claims whose response never reached the carrier. A carrier numbers its claim calls within the life of its
 * process (the epoch), and a claim's id begins with its call. When the carrier reports that all calls up to a number
 * have ended, a claim of such a call that it does not hold never reached it. Independent of clocks, so it holds for
 * delayed reports and skewed hosts.
 */

/** One call of a carrier process. */
export type ClaimCall = { readonly epoch: string; readonly round: number };

const CALL = /^([0-9a-z]{1,32})\.(\d{1,15})(?:\.|$)/;

/** Parses `<epoch>.<round>`, alone or at the start of a claim's id; undefined if there is none. */
export function readClaimCall(text: string): ClaimCall | undefined {
  const [, epoch, round] = CALL.exec(text) ?? [];
  return epoch === undefined ? undefined : { epoch, round: Number(round) };
}

/** Formats a claim's id: the call, if known, and a unique part. */
export function claimIdOf(call: ClaimCall | undefined, unique: string): string {
  return call === undefined ? unique : `${call.epoch}.${call.round}.${unique}`;
}

/** Epochs that sort in order of their start; those of older carriers are random. */
const ORDERED = /^r[0-9a-z]{8}/;

/**
 * True if the call of a claim had ended when its carrier reported `ended`. A call of an earlier process had: only
 * one process at a time has the carrier's identity. A call of a later process had not begun: the report was delayed.
 * Undefined if either call is unknown.
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
