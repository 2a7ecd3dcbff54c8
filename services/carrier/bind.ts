import type { Clock } from "../shared/core/clock.ts";
import { type BindFigures, type BindStats, createBindStats } from "./domain/bind-stats.ts";
import { openFlow, rest, roomOf, throttle, widen } from "./domain/flow.ts";
import { isJournalFailure, JOURNAL_FAILED, type PartOutcome } from "./domain/message.ts";
import type { Link, Part } from "./links/link.ts";

/** A link with its pace and its figures. */
export type Bind = {
  readonly index: number;
  readonly link: Link;
  readonly stats: BindStats;
  /** Submits that may go out now. */
  readonly room: number;
  /** When the carrier's "slow down" ends; 0 when there is none. */
  readonly pausedUntilMs: number;
  submit(part: Part): Promise<PartOutcome>;
  figures(): BindFigures;
};

/** Puts a pace on a link: what the carrier throttles, slows it down; what it takes, speeds it up. */
export function createBind(index: number, link: Link, clock: Clock): Bind {
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
    get pausedUntilMs() {
      return flow.pausedUntilMs;
    },
    async submit(part) {
      const startedMs = clock.now();
      inFlight += 1;
      stats.noteSubmit(startedMs);
      const outcome = await send(link, part);
      inFlight -= 1;
      const nowMs = clock.now();
      stats.noteOutcome(outcome, nowMs - startedMs, nowMs);
      if (outcome.kind === "accepted") flow = widen(flow, link.window);
      if (outcome.kind === "refused" && outcome.disposition === "throttled") {
        flow = throttle(flow, nowMs);
      }
      if (isJournalFailure(outcome)) flow = rest(flow, nowMs);
      return outcome;
    },
    figures: () => stats.read(clock.now()),
  };
}

/** A journal that cannot be written is met before any octet leaves. */
async function send(link: Link, part: Part): Promise<PartOutcome> {
  try {
    return await link.submit(part);
  } catch {
    return { kind: "not_sent", code: JOURNAL_FAILED };
  }
}
