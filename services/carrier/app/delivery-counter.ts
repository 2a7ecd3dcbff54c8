/**
 * Counts accepted submits and their final receipts by connector, country and five minutes. A flush adds the counts to
 * the store, where those of all replicas meet. A crash loses the counts since the last flush, which changes no message.
 */
import { parseRecipient } from "../../shared/core/phone.ts";
import { setRecent } from "../../shared/flow/lru.ts";
import type { ReceiptVerdict } from "../domain/message.ts";
import type { Submission } from "../domain/submission.ts";
import type { OutcomeReport } from "./outcome-reporter.ts";
import type { DeliverySlot, DeliveryStore } from "./ports.ts";

export type DeliveryCounter = {
  /** Counts the accepted submits of a message. */
  noteOutcome(report: Pick<OutcomeReport, "submissions" | "unknowns">): void;
  /** Counts the receipt of a submit once, however often the carrier sends it. */
  noteReceipt(submission: Submission, verdict: ReceiptVerdict, nowMs: number): void;
  /** Adds the counts to the store; keeps them when it cannot. */
  flush(): Promise<void>;
};

export const SLOT_MS = 300_000;
/** Receipts whose verdict is remembered; a repeated receipt comes within minutes. */
const RECEIPTS_MAX = 20_000;
/** Seven digits name the country of a number. */
const PREFIX_LENGTH = 7;
const PREFIXES_MAX = 5000;
/** Slots in memory. While the store is unavailable, the counter drops counts that need a further slot. */
const SLOTS_MAX = 20_000;

const COUNTS = ["submitted", "delivered", "undelivered"] as const;
type Count = (typeof COUNTS)[number];
type Slot = { -readonly [K in keyof DeliverySlot]: DeliverySlot[K] };

export function createDeliveryCounter(
  store: Pick<DeliveryStore, "addDeliveries">,
): DeliveryCounter {
  let slots = new Map<string, Slot>();
  const verdicts = new Map<string, ReceiptVerdict>();
  const countries = new Map<string, string>();

  function countryOf(digits: string): string {
    const prefix = digits.slice(0, PREFIX_LENGTH);
    const known = countries.get(prefix);
    if (known !== undefined) return known;
    const parsed = parseRecipient(`+${digits}`);
    const country = parsed.ok ? parsed.country : "unknown";
    setRecent(countries, prefix, country, PREFIXES_MAX);
    return country;
  }

  function count(
    { connectorId, to, atMs: sinceMs }: Pick<Submission, "connectorId" | "to" | "atMs">,
    what: Count,
    by: number,
  ): void {
    const country = countryOf(to);
    const atMs = Math.floor(sinceMs / SLOT_MS) * SLOT_MS;
    const name = `${connectorId}|${country}|${atMs}`;
    let slot = slots.get(name);
    if (slot === undefined) {
      if (slots.size >= SLOTS_MAX) return;
      slot = { ...{ connectorId, country, atMs }, submitted: 0, delivered: 0, undelivered: 0 };
      slots.set(name, slot);
    }
    slot[what] += by;
  }

  function merge(failed: ReadonlyMap<string, Slot>): void {
    for (const [name, slot] of failed) {
      const now = slots.get(name);
      if (now === undefined) slots.set(name, slot);
      else for (const what of COUNTS) now[what] += slot[what];
    }
  }

  return {
    noteOutcome({ submissions, unknowns }) {
      const accepted = [...submissions, ...unknowns.filter(({ isTaken }) => isTaken === true)];
      // A carrier with a single receipt answers each part of a message under segment 0.
      for (const one of new Map(accepted.map((each) => [each.segment, each])).values()) {
        count(one, "submitted", 1);
      }
    },
    noteReceipt(submission, verdict, nowMs) {
      if (verdict === "acknowledged") return;
      const { connectorId, messageId, segment, atMs } = submission;
      const name = `${connectorId}|${messageId}|${segment}`;
      const before = verdicts.get(name);
      if (before === verdict) return;
      const place = { ...submission, atMs: atMs === 0 ? nowMs : atMs };
      if (before === "delivered" || before === "undelivered") count(place, before, -1);
      count(place, verdict, 1);
      setRecent(verdicts, name, verdict, RECEIPTS_MAX);
    },
    async flush() {
      if (slots.size === 0) return;
      const flushed = slots;
      slots = new Map();
      try {
        await store.addDeliveries([...flushed.values()]);
      } catch (error) {
        merge(flushed);
        throw error;
      }
    },
  };
}
