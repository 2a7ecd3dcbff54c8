/**
 * Messages whose first part is in doubt and whose other parts were not submitted. A late answer or a receipt may
 * prove the first part within `waitMs`; then the others follow (ADR 115).
 *
 * Meanwhile the message is in doubt at messaging too, which fails it after a wait of its own. A receipt may come to any
 * replica, so this process asks messaging: it reports the outcome again every two seconds, and the answer says whether
 * a receipt has proved the first part. When the time is over, or the process stops, this process reports the outcome as
 * incomplete, and no part follows.
 *
 * The journal keeps the message's entry until then. When a process dies, the next process continues to wait for its
 * messages (`recovery.ts`): a part without a line in the journal was certainly not written.
 */
import type { Clock } from "../../shared/core/clock.ts";
import type { Outcome } from "../domain/message.ts";
import type { InFlight } from "./in-flight.ts";
import type { OutcomeReporter } from "./outcome-reporter.ts";

export type AwaitingProof = {
  /** Reports the message as in doubt and waits for its proof. */
  add(flight: InFlight, outcome: Outcome): void;
  /** Stops waiting; returns whether the message was waiting. */
  remove(messageId: string): boolean;
  /** Asks for proofs that are due, and ends messages whose time is over, or all of them. */
  check(isClosing: boolean): void;
};

type Waiting = {
  readonly flight: InFlight;
  readonly outcome: Outcome;
  readonly untilMs: number;
  askAtMs: number;
};

const ASK_INTERVAL_MS = 2000;

export function createAwaitingProof(options: {
  readonly outcomes: Pick<OutcomeReporter, "report">;
  readonly steady: Clock;
  readonly waitMs: number;
  readonly onProved: (flight: InFlight) => void;
}): AwaitingProof {
  const { outcomes, steady } = options;
  const waiting = new Map<string, Waiting>();

  function report({ flight, outcome }: Waiting): void {
    const { messageId } = outcome;
    outcomes.report({
      ...{ outcome, submissions: flight.submissions, unknowns: flight.unknowns, resolved: [] },
      keepsEntry: true,
      onReported(isProven) {
        if (isProven && waiting.delete(messageId)) options.onProved(flight);
      },
    });
  }

  function end({ flight, outcome }: Waiting): void {
    waiting.delete(outcome.messageId);
    outcomes.report({
      outcome: { ...outcome, isIncomplete: true },
      ...{ submissions: [], unknowns: [], resolved: [] },
      onReported: flight.markReported,
    });
  }

  return {
    add(flight, outcome) {
      const nowMs = steady.now();
      const times = { untilMs: nowMs + options.waitMs, askAtMs: nowMs + ASK_INTERVAL_MS };
      const one: Waiting = { flight, outcome, ...times };
      waiting.set(outcome.messageId, one);
      report(one);
    },
    remove: (messageId) => waiting.delete(messageId),
    check(isClosing) {
      const nowMs = steady.now();
      for (const one of [...waiting.values()]) {
        if (isClosing || nowMs >= one.untilMs) end(one);
        else if (nowMs >= one.askAtMs) {
          one.askAtMs = nowMs + ASK_INTERVAL_MS;
          report(one);
        }
      }
    },
  };
}
