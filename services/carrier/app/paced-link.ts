import type { Clock } from "../../shared/core/clock.ts";
import type { Logger } from "../../shared/core/logger.ts";
import type { Link, Part } from "../adapters/links/link.ts";
import { type BindFigures, type BindStats, createBindStats } from "../domain/bind-stats.ts";
import {
  type CongestionWindow,
  doubt,
  noteAnswer,
  openFlow,
  rest,
  roomOf,
  throttle,
  widen,
} from "../domain/congestion-control.ts";
import {
  isJournalFailure,
  JOURNAL_FAILED,
  JournalError,
  type PartOutcome,
} from "../domain/message.ts";

/** A link with its pace and its figures. */
export type Bind = {
  readonly index: number;
  readonly link: Link;
  readonly stats: BindStats;
  /** Submits that may go out now. */
  readonly room: number;
  /** How long the carrier's "slow down" lasts yet, in milliseconds; 0 when there is none. */
  readonly pauseLeftMs: number;
  submit(part: Part): Promise<PartOutcome>;
  figures(): BindFigures;
};

/**
 * Puts a pace on a link: what the carrier throttles or leaves unanswered slows it down; what it takes
 * speeds it up. The pace outlives the link's ups and downs: a carrier that binds again has not
 * answered a submit by that. The clock is a steady one: a pause must not last as long as a step of the
 * machine's clock.
 */
export function createBind(index: number, link: Link, clock: Clock, log: Logger): Bind {
  const stats = createBindStats();
  let flow = openFlow(link.window);
  let inFlight = 0;

  return {
    index,
    link,
    stats,
    get room() {
      return link.status === "bound" ? roomOf(flow, inFlight, clock.now()) : 0;
    },
    get pauseLeftMs() {
      return Math.max(0, flow.pausedUntilMs - clock.now());
    },
    async submit(part) {
      const startedMs = clock.now();
      inFlight += 1;
      stats.noteSubmit(startedMs);
      const outcome = await send(link, part, log);
      inFlight -= 1;
      const nowMs = clock.now();
      stats.noteOutcome(outcome, nowMs - startedMs, nowMs);
      flow = nextFlow(flow, outcome, link, { startedMs, nowMs });
      return outcome;
    },
    figures: () => stats.read(clock.now()),
  };
}

/** A refusal of the link itself holds for every submit, so it slows down too while the link is renewed. */
function nextFlow(
  flow: CongestionWindow,
  outcome: PartOutcome,
  { window, isScripted = false }: Link,
  { startedMs, nowMs }: { readonly startedMs: number; readonly nowMs: number },
): CongestionWindow {
  if (isJournalFailure(outcome)) return rest(flow, nowMs);
  if (isScripted || outcome.kind === "not_sent") return flow;
  if (outcome.kind === "unknown") return doubt(flow, startedMs, nowMs);
  const answered = noteAnswer(flow, nowMs);
  if (outcome.kind === "accepted") return widen(answered, window);
  const isOfMessage = outcome.disposition === "permanent" || outcome.disposition === "temporary";
  return isOfMessage ? answered : throttle(answered, nowMs);
}

/** A journal that cannot be written is met before any octet leaves; any other fault may come after that. */
async function send(link: Link, part: Part, log: Logger): Promise<PartOutcome> {
  try {
    return await link.submit(part);
  } catch (error) {
    if (error instanceof JournalError) return { kind: "not_sent", code: JOURNAL_FAILED };
    log.error({ error, message: part.messageId }, "a link failed in the middle of a submit");
    return { kind: "unknown", code: "link_fault" };
  }
}
