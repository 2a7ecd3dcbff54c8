import { evictOldest } from "../../shared/flow/lru.ts";
import type { TestReceipt } from "../../shared/smpp/test-numbers.ts";
import { SlidingRate } from "../domain/sliding-rate.ts";

/** The submits of one message part so far. */
export interface SeenSubmit {
  /** Submits of this message part so far, the current one included. */
  count: number;
  firstAtMs: number;
  /** Whether one of these submits was accepted. */
  isTaken: boolean;
}

/** Submits to one destination. */
export interface DestinationCounts {
  total: number;
  refused: number;
  /** Submits of a message part after one that was not refused. */
  duplicates: number;
}

/** The states in the receipts of one destination's message parts, acknowledged or not. */
export interface ReportedCounts {
  /** Parts with a receipt that says delivered. */
  delivered: number;
  /** Parts with a receipt that says anything else. */
  failed: number;
  /** Parts counted as both: failed first, and delivered late. */
  late: number;
}

/** The response of `GET /counters`. */
export interface CountersSnapshot {
  submits: Record<string, DestinationCounts>;
  reported: Record<string, ReportedCounts>;
  peak_per_second: number;
  binds: number;
  total: number;
  refused: number;
  duplicates: number;
  receipts: ReceiptCounts;
  /** Deliveries to SMPP clients that are not acknowledged yet, including those that are not due yet. */
  waiting: number;
}

/** Deliveries to the ESMEs: receipts and messages from handsets. */
export interface ReceiptCounts {
  sent: number;
  acknowledged: number;
  /** Deliveries sent again because they were refused or not answered. */
  resent: number;
  dropped: number;
}

/**
 * Counts submits by destination and recognises duplicates. Both tables evict their oldest entries, so a duplicate is
 * missed only after that many other messages.
 */
export class Counters {
  readonly #destinationsMax: number;
  readonly #identitiesMax: number;
  readonly #destinations = new Map<string, DestinationCounts>();
  readonly #reported = new Map<string, ReportedCounts>();
  readonly #seen = new Map<string, SeenSubmit>();
  readonly #arrivals = new SlidingRate();
  #peak = 0;
  #binds = 0;
  #sums: DestinationCounts = { total: 0, refused: 0, duplicates: 0 };
  receipts: ReceiptCounts = { sent: 0, acknowledged: 0, resent: 0, dropped: 0 };

  constructor(limits: { destinationsMax?: number; identitiesMax?: number } = {}) {
    this.#destinationsMax = limits.destinationsMax ?? 200_000;
    this.#identitiesMax = limits.identitiesMax ?? 500_000;
  }

  /** Counts a submit's arrival for the peak rate. */
  arrived(nowMs: number): void {
    this.#arrivals.add(nowMs);
    this.#peak = Math.max(this.#peak, this.#arrivals.count(nowMs));
  }

  /** Records a submit of a message part; the caller counts its answer with `countSubmit`. */
  see(identity: string, nowMs: number): SeenSubmit {
    const known = this.#seen.get(identity);
    if (known !== undefined) {
      known.count++;
      return known;
    }
    const seen = { count: 1, firstAtMs: nowMs, isTaken: false };
    this.#seen.set(identity, seen);
    evictOldest(this.#seen, this.#identitiesMax);
    return seen;
  }

  /** Counts a submit as refused or, whether answered or not, as taken. */
  countSubmit(destination: string, seen: SeenSubmit, isRefused: boolean): void {
    const counts = this.#destinations.get(destination) ?? { total: 0, refused: 0, duplicates: 0 };
    this.#destinations.set(destination, counts);
    evictOldest(this.#destinations, this.#destinationsMax);
    const isDuplicate = seen.isTaken;
    for (const sum of [counts, this.#sums]) {
      sum.total++;
      if (isRefused) sum.refused++;
      if (isDuplicate) sum.duplicates++;
    }
    if (!isRefused) seen.isTaken = true;
  }

  /** Counts the states in the receipts of one message part. */
  report(destination: string, states: readonly TestReceipt["state"][]): void {
    if (states.length === 0) return;
    const counts = this.#reported.get(destination) ?? { delivered: 0, failed: 0, late: 0 };
    this.#reported.set(destination, counts);
    evictOldest(this.#reported, this.#destinationsMax);
    const isDelivered = states.includes("delivered");
    const isFailed = states.some((state) => state !== "delivered");
    if (isDelivered) counts.delivered++;
    if (isFailed) counts.failed++;
    if (isDelivered && isFailed) counts.late++;
  }

  /** Changes the number of bound sessions. */
  bound(by: 1 | -1): void {
    this.#binds += by;
  }

  snapshot(): Omit<CountersSnapshot, "waiting"> {
    return {
      submits: Object.fromEntries(this.#destinations),
      reported: Object.fromEntries(this.#reported),
      peak_per_second: this.#peak,
      binds: this.#binds,
      ...this.#sums,
      receipts: { ...this.receipts },
    };
  }

  /** Clears everything except the number of bound sessions. */
  reset(): void {
    this.#destinations.clear();
    this.#reported.clear();
    this.#seen.clear();
    this.#arrivals.clear();
    this.#peak = 0;
    this.#sums = { total: 0, refused: 0, duplicates: 0 };
    this.receipts = { sent: 0, acknowledged: 0, resent: 0, dropped: 0 };
  }
}
