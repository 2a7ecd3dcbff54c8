import type { InFlight } from "./in-flight.ts";
import type { OutcomeReporter } from "./outcome-reporter.ts";

/** Well within the 5 s for which a receipt waits for its submit's outcome (`receipt-matcher.ts`). */
const SAVE_INTERVAL_MS = 1000;

/**
 * Saves the carrier ids of accepted parts while other parts of the message still wait. On a slow connector the
 * receipts of the first parts come before the last part has left, and a receipt is acknowledged only when its id
 * is stored.
 *
 * `now` saves new ids at once. Call `end` when the message has its outcome, which saves all of them.
 */
export function savePartialSubmissions(
  flight: InFlight,
  outcomes: Pick<OutcomeReporter, "saveSubmissions">,
) {
  let saved = 0;
  const now = () => {
    const fresh = flight.submissions.slice(saved);
    saved += fresh.length;
    if (fresh.length > 0) outcomes.saveSubmissions(fresh);
  };
  const timer = flight.parts.length > 1 ? setInterval(now, SAVE_INTERVAL_MS) : undefined;
  // Must not keep the process alive while a message waits for a proof: the saved submissions are enough to continue.
  timer?.unref();
  return { now, end: () => clearInterval(timer) };
}
