/** One submit that a carrier accepted: the message and segment to which its carrier id belongs. */
export type Submission = {
  readonly connectorId: string;
  /** The carrier's message id in its one canonical form. */
  readonly key: string;
  readonly messageId: string;
  /** The segment to which its receipts apply, counted from 1; 0 for the whole message. */
  readonly segment: number;
  /** The number of parts of the message, when each part gets receipts of its own. */
  readonly parts?: number;
  /** Recipient and sender as `normalizeAddress` writes them. */
  readonly to: string;
  readonly from: string;
  /** When it was answered; 0 when unknown. */
  readonly atMs: number;
  /** A receipt was matched by recipient and sender, which fit several segments in doubt. */
  readonly isSegmentGuessed?: boolean;
};

/** A submit whose octets were written and that has no carrier id: no answer came, or the answer had no id. */
export type UnknownSubmission = Omit<Submission, "key" | "isSegmentGuessed"> & {
  /** The carrier accepted it without an id: its message is sent and waits for its receipt. */
  readonly isTaken?: boolean;
  /** When the first octets of its message could leave; absent when this is not known. */
  readonly submittedAtMs?: number;
};

/** Whether two submissions are of the same part of the same message. */
export function isSameSubmit(
  one: Pick<Submission, "messageId" | "segment">,
  other: Pick<Submission, "messageId" | "segment">,
): boolean {
  return one.messageId === other.messageId && one.segment === other.segment;
}

/** The key of submissions in the store: one per connector and carrier id, which a carrier may use again. */
export function submissionName(connectorId: string, key: string): string {
  return `${connectorId}|${key}`;
}

/**
 * The segment to which a part's receipts apply: the whole message when it has one part, or when the carrier sends
 * one receipt for all parts. Otherwise each part counts; the connector's charset may make more parts than the
 * message has segments.
 */
export function segmentOfPart(
  part: number,
  parts: number,
  hasSingleReceipt: boolean,
): Pick<Submission, "segment" | "parts"> {
  if (parts === 1 || hasSingleReceipt) return { segment: 0 };
  return { segment: part + 1, parts };
}

/** A submit in doubt, with the carrier id that an earlier receipt has assigned to it. */
export type UnknownCandidate = UnknownSubmission & { readonly assignedKey?: string };

/**
 * Finds the submit of a receipt among those with its recipient and sender: the one with its id, else the first
 * segment without an id. Returns undefined when submits of two messages fit: a wrong match is worse than none.
 */
export function matchByParties(
  candidates: readonly UnknownCandidate[],
  key = "",
): UnknownCandidate | undefined {
  const own = key === "" ? undefined : candidates.find(({ assignedKey }) => assignedKey === key);
  if (own !== undefined) return own;
  const free = candidates.filter(({ assignedKey }) => assignedKey === undefined);
  const [first] = free;
  if (first === undefined) return undefined;
  if (free.some(({ messageId }) => messageId !== first.messageId)) return undefined;
  return free.reduce((best, one) => (one.segment < best.segment ? one : best));
}
