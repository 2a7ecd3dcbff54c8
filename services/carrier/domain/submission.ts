/** One submit that a carrier took: which message and segment its id stands for. */
export type Submission = {
  readonly connectorId: string;
  /** The carrier's message id in its one canonical form. */
  readonly key: string;
  readonly messageId: string;
  /** The segment that its receipts speak of, counted from 1; 0 for the whole message. */
  readonly segment: number;
  /** How many parts its message travels in, where receipts tell them apart. */
  readonly parts?: number;
  /** Parties in comparable form (`comparableParty`). */
  readonly to: string;
  readonly from: string;
  /** When it was answered; 0 where that is not known. */
  readonly atMs: number;
  /** The id was tied to it by a receipt's parties, which fit several segments in doubt. */
  readonly isSegmentGuessed?: boolean;
};

/** A submit whose octets were written and that has no carrier id: nobody answered, or the answer had none. */
export type UnknownSubmission = Omit<Submission, "key" | "isSegmentGuessed"> & {
  /** The carrier took it, without an id: its message is sent, and waits for its receipt like any other. */
  readonly isTaken?: boolean;
};

/** The name under which a submission is kept: one per connector and carrier id. */
export function submissionName(connectorId: string, key: string): string {
  return `${connectorId}|${key}`;
}

/**
 * The segment a part's receipts speak of. A message that travels in one submit, or whose carrier
 * sends one receipt for all, is spoken of as a whole. Else each part counts, however many segments the
 * message has: the connector's charset may make more parts of it.
 */
export function placeOfPart(
  part: number,
  parts: number,
  hasSingleReceipt: boolean,
): Pick<Submission, "segment" | "parts"> {
  if (parts === 1 || hasSingleReceipt) return { segment: 0 };
  return { segment: part + 1, parts };
}

/** A submit in doubt, and the carrier id that a receipt has given it since. */
export type UnknownCandidate = UnknownSubmission & { readonly tiedTo?: string };

/**
 * Finds the one submit that a receipt can belong to, by its parties: the one tied to its id already, else
 * the first segment that is tied to none. Nothing is found when submits of two messages fit: a wrong
 * match would be worse than none.
 */
export function matchByParties(
  candidates: readonly UnknownCandidate[],
  key = "",
): UnknownCandidate | undefined {
  const own = key === "" ? undefined : candidates.find(({ tiedTo }) => tiedTo === key);
  if (own !== undefined) return own;
  const free = candidates.filter(({ tiedTo }) => tiedTo === undefined);
  const [first] = free;
  if (first === undefined) return undefined;
  if (free.some(({ messageId }) => messageId !== first.messageId)) return undefined;
  return free.reduce((best, one) => (one.segment < best.segment ? one : best));
}
