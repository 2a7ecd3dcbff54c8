import { setRecent } from "../../shared/flow/lru.ts";
import type { Outcome } from "../domain/message.ts";
import type { InFlight } from "./in-flight.ts";

/** How often the carrier has deferred a message, which makes its next delay longer. */
export type Deferrals = {
  countOf(messageId: string): number | undefined;
  note(flight: InFlight, outcome: Outcome): void;
};

/** Messages whose count is kept; an evicted one starts with the shortest delay again. */
const MESSAGES_MAX = 10_000;

export function createDeferrals(): Deferrals {
  const counts = new Map<string, number>();
  return {
    countOf: (messageId) => counts.get(messageId),
    note({ message: { messageId }, outcomes }, outcome) {
      if (outcome.kind !== "not_sent") counts.delete(messageId);
      else if (outcomes[0]?.kind === "refused") {
        setRecent(counts, messageId, (counts.get(messageId) ?? 0) + 1, MESSAGES_MAX);
      }
    },
  };
}
