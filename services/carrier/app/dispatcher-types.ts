import type { Clock } from "../../shared/core/clock.ts";
import type { Logger } from "../../shared/core/logger.ts";
import type { PartRef } from "../domain/journal-lines.ts";
import type { ClaimedMessage, PartOutcome } from "../domain/message.ts";
import type { Bind } from "./bind.ts";
import type { OutcomeReporter } from "./outcome-reporter.ts";
import type { PartlyWritten } from "./partly-written.ts";
import type { Journal, RateLimiter, SubmitSpans } from "./ports.ts";
import type { RecentSubmissions } from "./recent-submissions.ts";

/** The dispatcher of one connector. */
export type Dispatcher = {
  add(messages: readonly ClaimedMessage[]): void;
  /** Sends as much as it can now. Call it when a bind came up or a pause ended. */
  pump(): void;
  /** Free slots of the windows, less the parts and messages that already wait. */
  readonly room: number;
  readonly waiting: number;
  readonly inFlight: number;
  /** Writes parts to the journal before their octets leave; throws `JournalError` when it cannot. */
  beforeWrite(parts: readonly PartRef[]): void;
  lateAnswer(messageId: string, partIndex: number, outcome: PartOutcome): void;
  /** Replaces the binds; submits in flight keep theirs until answered. */
  setBinds(binds: readonly Bind[]): void;
  setRateLimiter(rateLimiter: RateLimiter | undefined): void;
  /** Returns waiting messages to their queue, and `unwanted` ones that were claimed too late. */
  returnWaiting(code: string, unwanted?: readonly ClaimedMessage[]): void;
  /** Returns messages that have waited 5 s: in their queue they can be cancelled and take another route. */
  returnOverdue(): void;
  /** Ends started messages whose remaining parts have waited too long, or all of them when closing. */
  expire(isClosing: boolean): void;
};

export type DispatcherOptions = {
  readonly connectorId: string;
  readonly hasSingleReceipt: boolean;
  readonly journal: Pick<Journal, "append" | "markRefused">;
  readonly outcomes: Pick<OutcomeReporter, "report" | "saveSubmissions">;
  readonly recent: RecentSubmissions;
  readonly clock: Clock;
  /** The clock of all waits: a step of the machine's clock must not change them. */
  readonly steady: Clock;
  readonly log: Logger;
  readonly spans: SubmitSpans;
  /** How long a receipt may prove a first part in doubt, so that the others follow. */
  readonly proofWaitMs: number;
  /** Messages that an earlier process wrote in part. */
  readonly partlyWritten?: readonly PartlyWritten[];
  /** Called when there may be room for more messages. */
  readonly onRoom: () => void;
};
