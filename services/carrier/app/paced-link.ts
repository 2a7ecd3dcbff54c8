import type { Clock } from "../../shared/core/clock.ts";
import type { Logger } from "../../shared/core/logger.ts";
import { type BindFigures, type BindStats, createBindStats } from "../domain/bind-stats.ts";
import {
  type CongestionWindow,
  freeSlots,
  onAccepted,
  onJournalFailure,
  onResponse,
  onThrottled,
  onTimeout,
  openWindow,
} from "../domain/congestion-control.ts";
import {
  isJournalFailure,
  JOURNAL_FAILED,
  JournalError,
  type PartOutcome,
} from "../domain/message.ts";
import type { Link, Part } from "./link.ts";

/** A link with its congestion window and its figures. */
export type Bind = {
  readonly index: number;
  readonly link: Link;
  readonly stats: BindStats;
  /** Submits that may go out now. */
  readonly room: number;
  /** The rest of the current pause in milliseconds; 0 when there is none. */
  readonly pauseLeftMs: number;
  submit(part: Part): Promise<PartOutcome>;
  figures(): BindFigures;
};

/**
 * Puts a congestion window on a link. The window outlives reconnects: a carrier that accepts a bind has not
 * answered a submit yet. The clock is a steady one, so that a step of the machine's clock changes no pause.
 */
export function createBind(index: number, link: Link, clock: Clock, log: Logger): Bind {
  const stats = createBindStats();
  let window = openWindow(link.window);
  let inFlight = 0;

  return {
    index,
    link,
    stats,
    get room() {
      return link.status === "bound" ? freeSlots(window, inFlight, clock.now()) : 0;
    },
    get pauseLeftMs() {
      return Math.max(0, window.pausedUntilMs - clock.now());
    },
    async submit(part) {
      const startedMs = clock.now();
      inFlight += 1;
      stats.noteSubmit(startedMs);
      const outcome = await send(link, part, log);
      inFlight -= 1;
      const nowMs = clock.now();
      stats.noteOutcome(outcome, nowMs - startedMs, nowMs);
      window = nextWindow(window, outcome, link, { startedMs, nowMs });
      return outcome;
    },
    figures: () => stats.read(clock.now()),
  };
}

/** A refusal of the bind itself (disposition `bind`) slows the bind down as throttling does. */
function nextWindow(
  window: CongestionWindow,
  outcome: PartOutcome,
  { window: windowMax, isScripted = false }: Link,
  { startedMs, nowMs }: { readonly startedMs: number; readonly nowMs: number },
): CongestionWindow {
  if (isJournalFailure(outcome)) return onJournalFailure(window, nowMs);
  if (isScripted || outcome.kind === "not_sent") return window;
  if (outcome.kind === "unknown") return onTimeout(window, startedMs, nowMs);
  const answered = onResponse(window, nowMs);
  if (outcome.kind === "accepted") return onAccepted(answered, windowMax);
  const isOfMessage = outcome.disposition === "permanent" || outcome.disposition === "temporary";
  return isOfMessage ? answered : onThrottled(answered, nowMs);
}

/** A `JournalError` comes before any octet leaves; any other error may come after that. */
async function send(link: Link, part: Part, log: Logger): Promise<PartOutcome> {
  try {
    return await link.submit(part);
  } catch (error) {
    if (error instanceof JournalError) return { kind: "not_sent", code: JOURNAL_FAILED };
    log.error({ error, message: part.messageId }, "a link failed during a submit");
    return { kind: "unknown", code: "link_fault" };
  }
}
