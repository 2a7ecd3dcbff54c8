import type { InFlight } from "./in-flight.ts";
import type { OutcomeReporter } from "./outcome-reporter.ts";

/** So often ids are stored: well within the time for which a receipt waits for its submit's outcome (`receipts.ts`). */
const KEEP_EVERY_MS = 1000;

/**
 * Stores the ids under which parts of a message were taken while its others still wait for their turn: on a slow
 * connector their receipts come before the last part has left, and no receipt is acknowledged whose id is not stored.
 * `now` stores what is new at once; `end` when the message has come to its end, which stores them all.
 */
export function savePartialSubmissions(flight: InFlight, outcomes: Pick<OutcomeReporter, "keep">) {
  let kept = 0;
  const now = () => {
    const fresh = flight.submissions.slice(kept);
    kept += fresh.length;
    if (fresh.length > 0) outcomes.keep(fresh);
  };
  const timer = flight.parts.length > 1 ? setInterval(now, KEEP_EVERY_MS) : undefined;
  return { now, end: () => clearInterval(timer) };
}
