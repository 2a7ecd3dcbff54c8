/** The carrier's own counters against the messages (invariant 7), number by number. */
import type { FoundBreach } from "../../services/smsctl/check/report.ts";
import { errorCodeOf, type MessageRow } from "./database-reader.ts";

type Submits = { readonly total: number; readonly refused: number; readonly duplicates: number };
/** Parts whose receipts said delivered, parts whose receipts said anything else, and those of both. */
type Reported = { readonly delivered: number; readonly failed: number; readonly late: number };

/** The simulator's `GET /counters`, by number. */
export type CarrierCounters = {
  readonly submits: Readonly<Record<string, Submits>>;
  readonly reported: Readonly<Record<string, Reported>>;
};

const NO_SUBMITS: Submits = { total: 0, refused: 0, duplicates: 0 };
const NOT_REPORTED: Reported = { delivered: 0, failed: 0, late: 0 };

/** The results of unanswered submits. */
export type InDoubt = {
  readonly taken: number;
  readonly notTaken: number;
  /** Sent, and one of their parts did not reach the carrier. */
  readonly incomplete: number;
};

/** Adds the counters of several carriers. */
export function addCounters(all: readonly CarrierCounters[]): CarrierCounters {
  const submits: Record<string, Submits> = {};
  const reported: Record<string, Reported> = {};
  for (const counters of all) {
    for (const [to, one] of Object.entries(counters.submits)) {
      const { total, refused, duplicates } = submits[to] ?? NO_SUBMITS;
      submits[to] = {
        total: total + one.total,
        refused: refused + one.refused,
        duplicates: duplicates + one.duplicates,
      };
    }
    for (const [to, one] of Object.entries(counters.reported)) {
      const { delivered, failed, late } = reported[to] ?? NOT_REPORTED;
      reported[to] = {
        delivered: delivered + one.delivered,
        failed: failed + one.failed,
        late: late + one.late,
      };
    }
  }
  return { submits, reported };
}

/** Every number belongs to one message, so the counters give its exact number of submits. */
export function checkCarrier(
  messages: readonly MessageRow[],
  { submits, reported }: CarrierCounters,
  parked: readonly string[] = [],
): { readonly breaches: FoundBreach[]; readonly inDoubt: InDoubt } {
  const breaches: FoundBreach[] = [];
  const inDoubt = { taken: 0, notTaken: 0, incomplete: 0 };
  for (const message of messages) {
    const { _id, to, mode, status, segments, history } = message;
    if (status === "rejected") continue;
    const counted = submits[to.slice(1)] ?? NO_SUBMITS;
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
    // A message that a carrier throttled is back in its queue, where it may be cancelled.
    if (status === "cancelled" && taken > 0) add("cancelled, and taken");
    if (status !== "failed") {
      // A receipt that is still parked is late, not lost.
      const isParked = parked.some((receipt) => receipt.includes(to.slice(1)));
      const said = reported[to.slice(1)] ?? NOT_REPORTED;
      if (status === "expired" && taken < segments) inDoubt.incomplete += 1;
      const wrong = wasSent && !isParked ? checkReceipts(message, said) : undefined;
      if (wrong !== undefined) add(wrong, 5);
      continue;
    }
    if (errorCodeOf(message) !== "submission_unknown") {
      if (taken > 0) add(`failed with ${errorCodeOf(message) ?? "no error"}, and taken`);
    } else if (taken > 0) inDoubt.taken += 1;
    else inDoubt.notTaken += 1;
  }
  return { breaches, inDoubt };
}

/**
 * No receipt is lost: the message ends as the carrier reported. The carrier makes no receipt for a part
 * that never reached it, or that one of its faults hit.
 */
function checkReceipts(message: MessageRow, said: Reported): string | undefined {
  const { status, segments } = message;
  // A later part was rejected or never submitted: receipts no longer decide the message.
  const isRefused = status === "undelivered" && errorCodeOf(message) === "carrier_rejected";
  if (isRefused && said.delivered < segments && segments > 1) return undefined;
  const wanted = endsOf(said, segments);
  if (wanted.includes(status)) return undefined;
  return `ended ${status} where the carrier said ${wanted.join(" or ")}`;
}

/**
 * A failure receipt may arrive after its part's late delivery, because its link was down. So while
 * receipts of other parts are missing, both statuses are right.
 */
function endsOf({ delivered, failed, late }: Reported, segments: number): readonly string[] {
  if (delivered >= segments) return ["delivered"];
  if (failed > late) return ["undelivered"];
  return late > 0 ? ["undelivered", "expired"] : ["expired"];
}
