/** The carrier's own counters against the messages (invariant 7), number by number. */
import type { FoundBreach } from "../../services/smsctl/check/report.ts";
import type { MessageRow } from "./books.ts";

/** What `GET /counters` of the simulator says. */
export type CarrierCounters = {
  readonly submits: Readonly<
    Record<
      string,
      { readonly total: number; readonly refused: number; readonly duplicates: number }
    >
  >;
};

/** Endings whose messages never get a receipt; see `decisions.md`, "Test numbers". */
const WITHOUT_RECEIPT = /99(05|09|11)$/;
const NOT_DELIVERED = /99(01|02|10)$/;

/** What became of submits whose answer never came. */
export type InDoubt = {
  readonly taken: number;
  readonly notTaken: number;
  /** Sent, and one of their parts did not reach the carrier. */
  readonly incomplete: number;
};

/** Adds up what several carriers counted. */
export function addCounters(all: readonly CarrierCounters[]): CarrierCounters {
  const submits: Record<string, { total: number; refused: number; duplicates: number }> = {};
  for (const counters of all) {
    for (const [to, { total, refused, duplicates }] of Object.entries(counters.submits)) {
      submits[to] ??= { total: 0, refused: 0, duplicates: 0 };
      submits[to].total += total;
      submits[to].refused += refused;
      submits[to].duplicates += duplicates;
    }
  }
  return { submits };
}

/** Every number belongs to one message, so the counters say exactly how often it was submitted. */
export function judgeCarrier(
  messages: readonly MessageRow[],
  { submits }: CarrierCounters,
  parked: readonly string[] = [],
): { readonly breaches: FoundBreach[]; readonly inDoubt: InDoubt } {
  const breaches: FoundBreach[] = [];
  const inDoubt = { taken: 0, notTaken: 0, incomplete: 0 };
  for (const message of messages) {
    const { _id, to, mode, status, segments, history } = message;
    if (status === "rejected") continue;
    const counted = submits[to.slice(1)] ?? { total: 0, refused: 0, duplicates: 0 };
    const taken = counted.total - counted.refused - counted.duplicates;
    const add = (what: string, invariant = 7) =>
      void breaches.push({
        invariant,
        what: `${what} (${status}, ${segments} parts: ${JSON.stringify(counted)})`,
        ids: [_id],
      });
    if (counted.duplicates > 0) add("submitted again after it had been taken");
    if (mode === "test") {
      if (counted.total > 0) add("a test message went to the carrier");
      continue;
    }
    const wasSent = history.some((change) => change.status === "sent");
    if (wasSent && taken < 1) add("sent, and never taken");
    if (taken > segments) add("more parts taken than there are");
    // One that a carrier refused for now is back in its queue, where it may be cancelled.
    if (status === "cancelled" && taken > 0) add("cancelled, and taken");
    if (status !== "failed") {
      // A receipt that is still parked is late, not lost.
      const isParked = parked.some((receipt) => receipt.includes(to.slice(1)));
      // A part that never came to the carrier, or came and was cut, has no receipt to end with.
      const isIncomplete = status === "expired" && taken < segments;
      if (isIncomplete) inDoubt.incomplete += 1;
      const wrong = wasSent && !isParked && !isIncomplete ? judgeReceipts(message) : undefined;
      if (wrong !== undefined) add(wrong, 5);
      continue;
    }
    if (codeOf(message) !== "submission_unknown") {
      if (taken > 0) add(`failed with ${codeOf(message)}, and taken`);
    } else if (taken > 0) inDoubt.taken += 1;
    else inDoubt.notTaken += 1;
  }
  return { breaches, inDoubt };
}

/** No receipt is lost: what the carrier reports is where the message ends. */
function judgeReceipts(message: MessageRow): string | undefined {
  const { to, status, segments } = message;
  // A later part was refused for good: the carrier has no more to say about the whole.
  const isRefused = status === "undelivered" && codeOf(message) === "carrier_rejected";
  if (segments > 1 && isRefused) return undefined;
  const isWithout = WITHOUT_RECEIPT.test(to);
  const wanted = isWithout ? "expired" : NOT_DELIVERED.test(to) ? "undelivered" : "delivered";
  if (status === wanted || (isWithout && status === "delivered")) return undefined;
  return `ended ${status} where the carrier said ${wanted}`;
}

function codeOf({ error }: MessageRow): string {
  return typeof error === "string" ? error : (error?.code ?? "");
}
